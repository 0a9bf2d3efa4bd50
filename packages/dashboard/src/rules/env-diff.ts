import { type EnvVariable, secretMask } from '@berth/contract'
import type { Variable } from './dotenv.ts'

export interface EnvDiff {
  added: Variable[]
  changed: Variable[]
  removed: string[]
}

/** The changes that saving the text would make to the stored variables; an unchanged mask means an unchanged value. */
export function envDiff(stored: readonly EnvVariable[], wanted: readonly Variable[]): EnvDiff {
  const before = new Map(stored.map((one) => [one.key, one]))
  const after = new Set(wanted.map(({ key }) => key))
  return {
    added: wanted.filter(({ key }) => !before.has(key)),
    changed: wanted.filter(({ key, value }) => {
      const old = before.get(key)
      return old && old.value !== value && !(old.isSecret && value === secretMask)
    }),
    removed: stored.filter(({ key }) => !after.has(key)).map(({ key }) => key),
  }
}

export const isEmptyDiff = ({ added, changed, removed }: EnvDiff) => added.length + changed.length + removed.length === 0
