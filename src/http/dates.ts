import type { HeadForm } from './forms.js';

/** Decades at most: the year keeps its four digits, and so the date its width. */
const DATE = /\{date([+-]\d{1,12})ms\}/g;

type Headers = NonNullable<HeadForm['set']>;

/** A head whose `{date+…ms}` are dates: what a client is told to wait for lies in the future of each answer. */
export function datedHead(form: HeadForm, httpDate: (laterMs: number) => string): HeadForm {
  const dated = (headers: Headers): Headers =>
    headers.map(
      ([name, value]) => [name, value.replace(DATE, (_, laterMs: string) => httpDate(Number(laterMs)))] as const,
    );
  return {
    ...form,
    ...(form.set ? { set: dated(form.set) } : {}),
    ...(form.add ? { add: dated(form.add) } : {}),
  };
}
