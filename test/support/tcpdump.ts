import { spawn, spawnSync } from 'node:child_process';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { onTestFinished, type TestContext } from 'vitest';

/** What the kernel put on the wire, as tcpdump stores it: neither Node's nor our word for it. */
export const tcpdumpInstalled = spawnSync('tcpdump', ['--version']).status === 0;

/**
 * Immediate mode and no buffer: each packet is there as it passes, in order. The kernel's own buffer (KiB) is of whole
 * frames of the largest size: of the default 2 MiB it dropped packets of an exchange in 1 of 3 captures of `any`.
 */
const OPTIONS = ['-n', '-U', '-B', '65536', '--immediate-mode', '-w', '-'];

export interface CaptureSettings {
  readonly port: number;
  readonly host: string;
  readonly ctx: TestContext;
  /** More options of tcpdump; an interface among them takes the place of `lo`. */
  readonly options?: readonly string[];
}

/**
 * The capture file of `port` on the loopback interface until `act` is through. Skips the test, with tcpdump's reason,
 * where it may not capture.
 */
export async function captured(settings: CaptureSettings, act: () => Promise<unknown>): Promise<Buffer> {
  const { port, host, ctx, options = [] } = settings;
  const args = [...(options.includes('-i') ? [] : ['-i', 'lo']), ...options, ...OPTIONS, 'tcp', 'port', String(port)];
  const tcpdump = spawn('tcpdump', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise<void>((resolve) => tcpdump.once('exit', () => resolve()));
  onTestFinished(async () => {
    tcpdump.kill('SIGKILL');
    await exited;
  });
  const said: string[] = [];
  const ready = await new Promise<boolean>((resolve) => {
    createInterface(tcpdump.stderr).on('line', (line) => {
      said.push(line);
      if (line.includes('listening on')) resolve(true);
    });
    tcpdump.once('close', () => resolve(false));
  });
  if (!ready) ctx.skip(`tcpdump can't capture here: ${said.join(' ')}`);

  let file = Buffer.alloc(0);
  let look: () => void = () => {};
  tcpdump.stdout.on('data', (bytes) => {
    file = Buffer.concat([file, bytes]);
    look();
  });
  await act();
  // The capture is in order: when a later connection shows in it, all that was before is there.
  const marker = net.connect(port, host);
  await new Promise((resolve) => marker.once('connect', resolve));
  const { localPort = 0 } = marker;
  const ports = Buffer.alloc(4);
  ports.writeUInt16BE(localPort, 0);
  ports.writeUInt16BE(port, 2);
  await new Promise<void>((resolve) => {
    look = () => {
      if (file.includes(ports)) resolve();
    };
    look();
  });
  marker.destroy();
  tcpdump.kill('SIGINT');
  await exited;
  return file;
}
