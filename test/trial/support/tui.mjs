// A little interactive client: asks for a line, shows the answer, waits for the next line. It spins while it works.
import { createInterface } from 'node:readline';

const [, , baseURL] = process.argv;
const lines = createInterface({ input: process.stdin });
process.stdout.write('Do you trust this folder? (y)\n');
lines.on('line', async (line) => {
  if (line === 'y') return process.stdout.write('READY\n');
  if (line === 'quit') process.exit(3);
  let turns = 0;
  const spinning = setInterval(() => process.stdout.write(`\rworking ${turns++}`), 50);
  const response = await fetch(`${baseURL}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'gpt-5.4', stream: true, messages: [{ role: 'user', content: line }] }),
  });
  const text = (await response.text())
    .split('\n\n')
    .flatMap((event) =>
      event.startsWith('data: {') ? [JSON.parse(event.slice(6)).choices[0]?.delta.content ?? ''] : [],
    )
    .join('');
  clearInterval(spinning);
  process.stdout.write(`\r\x1b[K${text}\n> `);
});
