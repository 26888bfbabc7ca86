// Options by name and by word: what is wrong is an error that names the nearest, and never lost.

/** The names of the options in T, of which the compiler sees that none is missing. */
export type Names<T> = Readonly<Record<keyof T, true>>;

/** Throws a TypeError for an option that is not known. */
export function checkOptions(what: string, given: object, known: Readonly<Record<string, true>>): void {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(known, name)) {
      throw new TypeError(`${what} has no option \`${name}\`; ${nearest(name, Object.keys(known))}`);
    }
  }
}

/** Throws a RangeError for a word that is none of those known; else gives it. */
export function checkChoice<T extends string>(option: string, chosen: T, known: readonly T[]): T {
  if (known.includes(chosen)) return chosen;
  throw new RangeError(`\`${option}\` cannot be \`${chosen}\`; ${nearest(String(chosen), known)}`);
}

/** Throws a RangeError for what is no whole number from 0 on; else gives it, and 0 for none. */
export function checkCount(option: string, count: number | undefined, most = 2 ** 32 - 1): number {
  if (count === undefined) return 0;
  if (Number.isInteger(count) && count >= 0 && count <= most) return count;
  throw new RangeError(`\`${option}\` cannot be \`${count}\`; it is a whole number from 0 to ${most}`);
}

function nearest(name: string, known: readonly string[]): string {
  const near = known
    .map((one) => ({ one, far: distance(name.toLowerCase(), one.toLowerCase()) }))
    .reduce((best, next) => (next.far < best.far ? next : best));
  return `the nearest is \`${near.one}\``;
}

/** Characters to insert, delete or replace (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, character] of [...from].entries()) {
    const next = [index + 1];
    for (let at = 1; at <= to.length; at++) {
      const replaced = (row[at - 1] ?? 0) + (to[at - 1] === character ? 0 : 1);
      next.push(Math.min(replaced, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
