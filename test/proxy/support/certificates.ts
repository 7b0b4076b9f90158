import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls, { type TLSSocket } from 'node:tls';
import { beforeAll, onTestFinished } from 'vitest';
import { listening } from './upstream.js';

export const hasOpenssl = ((): boolean => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

const NEW_KEY = ['-newkey', 'rsa:2048', '-nodes'];
const DAYS = ['-days', '2'];

/**
 * Certificates for the tests of a `describe`, made by openssl: of the authorities `ca` and `other`; signed by `ca`:
 * `right` for 127.0.0.1, `wrong` for another name, and `client`. Each has its key beside it. Returns the path of a file.
 */
export function certificates(): (name: string) => string {
  let dir = '';
  const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { cwd: dir, stdio: 'ignore' });

  function authority(name: string): void {
    const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`];
    openssl('req', '-x509', ...NEW_KEY, ...DAYS, '-subj', `/CN=${name}`, ...files);
  }

  function signed(name: string, san: string): void {
    const files = ['-keyout', `${name}.key`, '-out', `${name}.csr`];
    openssl('req', ...NEW_KEY, '-subj', `/CN=${name}`, '-addext', `subjectAltName=${san}`, ...files);
    const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-copy_extensions', 'copy'];
    openssl('x509', '-req', '-in', `${name}.csr`, ...by, ...DAYS, '-out', `${name}.pem`);
  }

  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'wirefault-tls-'));
    authority('ca');
    authority('other');
    signed('right', 'IP:127.0.0.1');
    signed('wrong', 'DNS:elsewhere.example');
    signed('client', 'DNS:client');
    return () => rmSync(dir, { recursive: true });
  });
  return (name) => join(dir, name);
}

export interface SecureUpstream {
  readonly url: string;
  readonly connections: readonly TLSSocket[];
}

/** An upstream with the certificate `name`, which sends `answer` for whatever comes. */
export async function secureUpstream(
  file: (name: string) => string,
  name: string,
  answer: Buffer,
  { asksForCertificate = false } = {},
): Promise<SecureUpstream> {
  const connections: TLSSocket[] = [];
  const server = tls.createServer(
    {
      key: readFileSync(file(`${name}.key`)),
      cert: readFileSync(file(`${name}.pem`)),
      ...(asksForCertificate ? { requestCert: true, ca: [readFileSync(file('ca.pem'))] } : {}),
    },
    (socket) => {
      connections.push(socket);
      socket.on('error', () => {});
      socket.on('data', () => socket.write(answer));
    },
  );
  server.on('tlsClientError', () => {});
  const port = await listening(server);
  onTestFinished(() => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  return { url: `https://127.0.0.1:${port}`, connections };
}
