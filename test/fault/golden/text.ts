/** Control characters as JSON writes them, and no more than fits in a line. */
export function clipped(text: string, most = 60): string {
  const shown = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
  return shown.length > most ? `${shown.slice(0, most - 1)}…` : shown;
}

/** As `clipped`, with the end of the text, where an odd event has what is odd about it. */
export function clippedInside(text: string): string {
  const shown = clipped(text, Number.POSITIVE_INFINITY);
  return shown.length > 60 ? `${shown.slice(0, 29)}…${shown.slice(-30)}` : shown;
}
