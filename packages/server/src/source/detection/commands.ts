/** A word of a command as a user would type it: quoted only when it has to be. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** The two lines one after the other, where both are there. */
export const both = (first: string | null, second: string | null): string | null =>
  first && second ? `${first} && ${second}` : (first ?? second)
