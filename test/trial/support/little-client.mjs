// A client of a few lines, with the manners that its third argument names. Plain JavaScript: it runs as it is.
const [, , baseURL, prompt, manners] = process.argv;

/** What an answer was: its text, whether its end came, and whether the provider said that it failed. */
async function ask() {
  const got = { text: '', finish: null, done: false, failed: false, broken: false };
  try {
    const response = await fetch(`${baseURL}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'gpt-5.4', stream: true, messages: [{ role: 'user', content: prompt }] }),
    });
    let rest = '';
    for await (const bytes of response.body) {
      rest += Buffer.from(bytes).toString('utf8');
      const events = rest.split('\n\n');
      rest = events.pop();
      for (const data of events.map((event) => event.replace(/^data: /, ''))) {
        if (data === '[DONE]') got.done = true;
        else if (JSON.parse(data).error) got.failed = true;
        else {
          got.text += JSON.parse(data).choices[0]?.delta.content ?? '';
          got.finish = JSON.parse(data).choices[0]?.finish_reason ?? got.finish;
        }
      }
    }
  } catch {
    got.broken = true;
  }
  return got;
}

const isWhole = ({ done, finish, failed, broken }) => done && finish === 'stop' && !failed && !broken;
const say = (text) => process.stdout.write(`${text}\n`);

function giveUp(why) {
  process.stderr.write(`the answer ended early: ${why}\n`);
  process.exit(1);
}

const MANNERS = {
  /** Shows what has come, whatever that is; it does notice what the provider calls an error. */
  naive: async () => {
    const { text, failed } = await ask();
    say(text);
    if (failed) giveUp('the provider says so');
  },
  /** Notices nothing at all. */
  deaf: async () => say((await ask()).text),
  /** Wants the protocol's end. */
  strict: async () => {
    const got = await ask();
    say(got.text);
    if (!isWhole(got)) giveUp(got.broken ? 'the connection broke' : 'no end');
  },
  /** Says what is wrong, but with exit code 0. */
  polite: async () => {
    const got = await ask();
    say(got.text);
    if (!isWhole(got)) say('(this answer is incomplete)');
  },
  /** Asks again, a few times, and shows the whole answer only. */
  patient: async () => {
    for (let n = 0; n < 3; n++) {
      const got = await ask();
      if (isWhole(got)) return say(got.text);
      await new Promise((resolve) => setTimeout(resolve, 20 * 2 ** n));
    }
    giveUp('three times');
  },
  /** Asks again, with the broken text left on the screen. */
  doubling: async () => {
    for (let n = 0; n < 3; n++) {
      const got = await ask();
      say(got.text);
      if (isWhole(got)) return;
    }
    giveUp('three times');
  },
  /** Takes even a whole answer after a broken one for broken. */
  looping: async () => {
    const first = await ask();
    if (isWhole(first)) return say(first.text);
    for (;;) await ask();
  },
  /** Waits for the end that never comes. */
  waiting: async () => {
    const got = await ask();
    if (isWhole(got)) return say(got.text);
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  },
  /** An error that nothing catches. */
  crashing: async () => {
    const got = await ask();
    if (isWhole(got)) return say(got.text);
    setImmediate(() => {
      throw new TypeError("Cannot read properties of undefined (reading 'length')");
    });
  },
  /** Ended by a signal that was not ours. */
  aborting: async () => {
    const got = await ask();
    if (isWhole(got)) return say(got.text);
    process.kill(process.pid, 'SIGABRT');
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  },
  /** Shows nothing, even when all is well. */
  mute: async () => void (await ask()),
  /** Never asks. */
  idle: async () => say('hello'),
};

await MANNERS[manners]();
