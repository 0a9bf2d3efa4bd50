/** Quotes a word of a command if necessary. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Joins two commands with `&&`; a missing command is ignored. */
export const joinCommands = (first: string | null, second: string | null): string | null =>
  first && second ? `${first} && ${second}` : (first ?? second)
