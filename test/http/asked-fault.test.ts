import { describe, expect, it } from 'vitest';
import { askedFault } from '../../src/http/asked-fault.js';
import { headOf } from '../support/selecting.js';

const asked = (target: string, headers: Record<string, string> = {}) => askedFault(headOf({ target, headers }));
const query = (text: string) => ({ source: 'query', text });

describe('the fault that a request asks for', () => {
  it('is none for most', () => {
    for (const target of [
      '/v1/messages',
      '/v1/messages?beta=true',
      '/v1/fault/F2/messages',
      '/fault',
      '/fault/F2',
      '/fault//v1',
    ])
      expect(asked(target), target).toBeUndefined();
  });

  it('stands in the query', () => {
    expect(asked('/v1/messages?beta=true&fault=F2')).toEqual(query('F2'));
    expect(asked('/v1/messages?fault=rst%40event%3A3')).toEqual(query('rst@event:3'));
    expect(asked('/v1/messages?fault=')).toEqual(query(''));
    expect(asked('/v1/messages?fault=F1&fault=F2')).toEqual(query('F1'));
  });

  it('keeps its plus, written plainly or escaped', () => {
    expect(asked('/v1/messages?fault=F1+')).toEqual(query('F1+'));
    expect(asked('/v1/messages?fault=F1%2B')).toEqual(query('F1+'));
    expect(asked('/v1/messages?fault=rst@event:3+17')).toEqual(query('rst@event:3+17'));
    expect(asked('/fault/rst@event:3+17/v1/messages')).toEqual(query('rst@event:3+17'));
  });

  it('may be JSON, as a form writes it', () => {
    const fault = JSON.stringify({ answer: { kind: 'turn', turn: { text: 'none', say: 'a b+c', finish: 'stop' } } });
    expect(asked(`/v1/messages?${new URLSearchParams({ fault })}`)).toEqual(query(fault));
    expect(asked(`/v1/messages?fault=${encodeURIComponent(fault)}`)).toEqual(query(fault));
    expect(asked(`/fault/${encodeURIComponent(fault)}/v1/messages`)).toEqual(query(fault));
  });

  it('stands before the path of the API', () => {
    expect(asked('/fault/F2/v1/chat/completions')).toEqual(query('F2'));
    expect(asked('/fault/F1+/v1/chat/completions')).toEqual(query('F1+'));
    expect(asked('/fault/stall%40headers/v1/messages?beta=true')).toEqual(query('stall@headers'));
    expect(asked('/fault/100%/v1/messages')).toEqual(query('100%'));
    expect(asked('/fault/F2/v1/messages?fault=F3')).toEqual(query('F3'));
  });

  it('stands in a header, behind the URL', () => {
    expect(asked('/v1/messages', { 'x-wirefault': 'F1+' })).toEqual({ source: 'header', text: 'F1+' });
    expect(asked('/v1/messages?fault=F2', { 'x-wirefault': 'F3' })).toEqual(query('F2'));
    expect(asked('/fault/F2/v1/messages', { 'x-wirefault': 'F3' })).toEqual(query('F2'));
  });
});
