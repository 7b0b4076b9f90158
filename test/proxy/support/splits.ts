/** `bytes` cut at each of `at`, in any order. */
export function pieces(bytes: Buffer, at: readonly number[]): Buffer[] {
  const borders = [...new Set([...at, bytes.length])].toSorted((a, b) => a - b);
  return borders.map((end, n) => bytes.subarray(borders[n - 1] ?? 0, end)).filter(({ length }) => length > 0);
}
