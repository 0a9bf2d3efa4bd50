import { allSettings } from './settings.ts'

/** Warnings about variables that look like settings but are unknown, each with the most similar setting. */
export function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = allSettings.map(({ variable }) => variable)
  return Object.keys(env)
    .filter((name) => name.startsWith('BERTH_') && !name.startsWith('BERTH_TEST_') && !known.includes(name))
    .sort()
    .map((name) => `${name} is not a setting and was ignored. Did you mean ${nearest(name, known)}?`)
}

function nearest(name: string, known: readonly string[]): string {
  return known.reduce((best, candidate) => (editDistance(name, candidate) < editDistance(name, best) ? candidate : best))
}

function editDistance(left: string, right: string): number {
  let above = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (const [row, letter] of [...left].entries()) {
    const line = [row + 1]
    for (let column = 1; column <= right.length; column++) {
      const change = above[column - 1]! + (letter === right[column - 1] ? 0 : 1)
      line.push(Math.min(change, above[column]! + 1, line[column - 1]! + 1))
    }
    above = line
  }
  return above.at(-1)!
}
