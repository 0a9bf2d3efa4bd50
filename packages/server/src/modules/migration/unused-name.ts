/** Returns the name, or the first unused one with a number, and marks it as taken. */
export function unusedName(preferred: string, taken: Set<string>, between: string): string {
  let name = preferred
  for (let number = 2; taken.has(name); number += 1) name = `${preferred}${between}${number}`
  taken.add(name)
  return name
}
