/** The name, or the first with a number that nobody has; it is taken from then on. */
export function unusedName(wanted: string, taken: Set<string>, between: string): string {
  let name = wanted
  for (let number = 2; taken.has(name); number += 1) name = `${wanted}${between}${number}`
  taken.add(name)
  return name
}
