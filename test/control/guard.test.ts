import { describe, expect, it } from 'vitest';
import { type GuardOptions, guard, isLoopback } from '../../src/control/guard.js';

const HERE = '127.0.0.1';

interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly client?: string | undefined;
  readonly host?: string;
  readonly token?: string;
}

/** The status of a refusal, or `allowed`. */
function asked({ headers = { host: '127.0.0.1:8000' }, host = HERE, token, ...rest }: Asked): string {
  const options: GuardOptions = { host, controlToken: token };
  const denied = guard({ headers }, 'client' in rest ? rest.client : HERE, options);
  if (!denied) return 'allowed';
  const { error } = JSON.parse(denied.body);
  expect(error.code).toBe('control_denied');
  return `${denied.status}: ${error.message}`;
}

describe('an address of this machine', () => {
  it('is a loopback address in any form', () => {
    for (const address of [
      '127.0.0.1',
      '127.8.9.10',
      '::1',
      '::ffff:127.0.0.1',
      '::FFFF:127.0.0.1',
      'localhost',
      'LOCALHOST',
    ])
      expect(isLoopback(address), address).toBe(true);
  });

  it('is no other, and no name that looks like one', () => {
    const others = [
      '0.0.0.0',
      '::',
      '10.0.0.1',
      '128.0.0.1',
      '::2',
      '127.0.0.1.evil.com',
      '127.evil.com',
      'localhost.evil.com',
    ];
    for (const address of [undefined, '', '127', '127.1', '2130706433', '::ffff:10.0.0.1', ...others])
      expect(isLoopback(address), String(address)).toBe(false);
  });
});

describe('without a token', () => {
  it('a client of this machine may, by any name of this machine', () => {
    const hosts = ['127.0.0.1:8000', '127.0.0.1', 'localhost:8000', 'LocalHost', '[::1]:8000', '127.3.2.1:1'];
    for (const host of hosts) expect(asked({ headers: { host } }), host).toBe('allowed');
    expect(asked({ headers: {} })).toBe('allowed');
    expect(asked({ client: '::ffff:127.0.0.1' })).toBe('allowed');
    expect(asked({ host: '::1', client: '::1', headers: { host: '[::1]:8000' } })).toBe('allowed');
    expect(asked({ host: 'localhost', headers: { host: 'localhost:8000' } })).toBe('allowed');
  });

  it('nobody may where the server listens elsewhere, a client of this machine neither', () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.7', 'example.org'])
      expect(asked({ host, headers: { host: '127.0.0.1:8000' } })).toMatch(/^403: .*loopback only; .*--control-token/);
  });

  it('a client of elsewhere, or of an unknown address, may not', () => {
    for (const client of ['192.168.1.7', '::ffff:192.168.1.7', 'fe80::1', undefined])
      expect(asked({ client })).toMatch(/^403: .*loopback only/);
  });

  it('a name that was made to point here may not (DNS rebinding)', () => {
    const hosts = [
      'evil.com',
      'evil.com:8000',
      '127.0.0.1.evil.com:8000',
      'localhost.evil.com',
      'localhost:1@evil.com',
      '10.0.0.1',
    ];
    for (const host of [...hosts, '[::2]:8000', '', '0.0.0.0:8000'])
      expect(asked({ headers: { host } }), host).toMatch(/^403: Host ".*" is not this machine: no web page/);
    // A page that is served under its own name has that in both.
    const page = { host: 'evil.com:8000', origin: 'http://evil.com:8000' };
    expect(asked({ headers: page })).toMatch(/^403: Host/);
  });

  it('a web page of elsewhere may not', () => {
    const host = '127.0.0.1:8000';
    const origins = [
      'http://evil.com',
      'https://evil.com:8000',
      'null',
      'http://127.0.0.1:9000',
      'http://localhost:8000',
      'file://',
    ];
    for (const origin of [...origins, '', 'ftp://127.0.0.1:8000'])
      expect(asked({ headers: { host, origin } }), origin).toMatch(/^403: Origin ".*" is foreign: no web page/);
    for (const site of ['cross-site', 'same-site'])
      expect(asked({ headers: { host, 'sec-fetch-site': site } })).toBe(
        `403: Sec-Fetch-Site is ${site}: no web page may drive this server`,
      );
    expect(asked({ headers: { origin: 'http://evil.com' } })).toMatch(/^403: Origin/);
  });

  it('a page of this very port may: it is of this server', () => {
    const headers = { host: 'localhost:8000', origin: 'http://localhost:8000', 'sec-fetch-site': 'same-origin' };
    expect(asked({ headers })).toBe('allowed');
    expect(asked({ headers: { host: 'localhost:8000', 'sec-fetch-site': 'none' } })).toBe('allowed');
  });
});

describe('with a token', () => {
  const token = 's3cret-token';
  const remote = { host: '0.0.0.0', client: '192.168.1.7', token } as const;

  it('whoever has it may, from anywhere', () => {
    for (const headers of [
      { authorization: `Bearer ${token}` },
      { authorization: `bearer   ${token}` },
      { 'x-wirefault-token': token },
      // A key of the API beside it is none of its business.
      { 'x-wirefault-token': token, authorization: 'Bearer sk-key' },
      { 'x-wirefault-token': token, host: 'wirefault.example.org' },
    ])
      expect(asked({ ...remote, headers })).toBe('allowed');
  });

  it('nobody else may, from this machine neither', () => {
    for (const headers of [
      {},
      { authorization: token },
      { authorization: `Basic ${token}` },
      { authorization: 'Bearer ' },
      { authorization: `Bearer ${token}x` },
      { authorization: `Bearer ${token.slice(1)}` },
      { 'x-wirefault-token': token.toUpperCase() },
      { 'x-wirefault-token': '' },
      // The header of its own comes first.
      { 'x-wirefault-token': 'wrong', authorization: `Bearer ${token}` },
    ] as const) {
      expect(asked({ ...remote, headers }), JSON.stringify(headers)).toMatch(/^401: the control plane needs its token/);
      expect(asked({ token, headers })).toMatch(/^401/);
    }
  });

  it('a refusal never tells the token', () => {
    expect(asked({ ...remote, headers: { 'x-wirefault-token': 'wrong' } })).not.toContain(token);
  });
});
