/** What one client does with one variant of a case, in one plain line. */
export interface Outcome {
  /** Without a version: the lockfile has it. */
  readonly client: string;
  readonly variant: string;
  readonly does: string;
}

/** The same for each of some variants. */
export function each(variants: readonly string[], does: Readonly<Record<string, string>>): Outcome[] {
  return variants.flatMap((variant) =>
    Object.entries(does).map(([client, line]): Outcome => ({ client, variant, does: line })),
  );
}
