import type { EnvVariable } from '@berth/contract'

export type Comparison = 'same' | 'different' | 'secret' | 'onlyLeft' | 'onlyRight'

export interface ComparedVariable {
  key: string
  comparison: Comparison
  left: EnvVariable | undefined
  right: EnvVariable | undefined
}

/**
 * Compares the variables of two environments by name. The values of secrets never reach the browser, so two secrets of one name are
 * reported as secret, neither same nor different.
 */
export function compareEnvironments(left: readonly EnvVariable[], right: readonly EnvVariable[]): ComparedVariable[] {
  const lefts = new Map(left.map((one) => [one.key, one]))
  const rights = new Map(right.map((one) => [one.key, one]))
  return [...new Set([...lefts.keys(), ...rights.keys()])].sort().map((key) => {
    const [one, other] = [lefts.get(key), rights.get(key)]
    return { key, left: one, right: other, comparison: comparisonOf(one, other) }
  })
}

function comparisonOf(left: EnvVariable | undefined, right: EnvVariable | undefined): Comparison {
  if (!right) return 'onlyLeft'
  if (!left) return 'onlyRight'
  if (left.isSecret || right.isSecret) return 'secret'
  return left.value === right.value ? 'same' : 'different'
}

/** Variables that can be copied to the right: readable, and missing or different there. */
export const copyableToRight = (compared: readonly ComparedVariable[]): EnvVariable[] =>
  compared.flatMap(({ comparison, left }) =>
    left && !left.isSecret && (comparison === 'onlyLeft' || comparison === 'different') ? [left] : [],
  )
