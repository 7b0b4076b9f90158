import { datedHead } from '../http/dates.js';
import type { HeadForm } from '../http/forms.js';
import { frame } from '../http/framing.js';
import type { ResponseHead } from '../http/response-scanner.js';
import type { Header } from '../sse/dialect.js';
import type { Marked } from '../sse/mark.js';

/**
 * The head of a passing answer with the changes of a fault: what isn't named in it stays as the upstream sent it.
 * @param raw the head as it was on the wire
 */
export function editedHead(raw: Buffer, head: ResponseHead, form: HeadForm, swapTo: string | undefined): Marked {
  const line = raw.toString('latin1', 0, head.statusLineEnd - head.start).replace(/\r?\n$/, '');
  const wanted = dated(form);
  const told = form.version === undefined && form.status === undefined && form.reason === undefined;
  const headers = head.headers.map(
    ([name, value]): Header => [name, swapTo !== undefined && /^content-type$/i.test(name) ? swapTo : value],
  );
  return frame(
    {
      status: head.status,
      headers,
      // The upstream's framing headers are among its headers; none are added.
      framing: 'until_close',
      keepAlive: head.keepAlive,
      form: { ...(told ? { statusLine: line } : {}), ...wanted, ...connectionOf(wanted), connection: 'none' },
    },
    [],
  );
}

function dated(form: HeadForm): HeadForm {
  return datedHead(form, (laterMs) => new Date(Date.now() + laterMs).toUTCString());
}

/** The Connection header that the form asks for takes the place of the upstream's. */
function connectionOf({ connection, set = [], remove = [] }: HeadForm): Pick<HeadForm, 'set' | 'remove'> {
  if (connection === undefined) return {};
  if (connection === 'none') return { remove: [...remove, 'connection'] };
  return { set: [...set, ['Connection', connection]] };
}
