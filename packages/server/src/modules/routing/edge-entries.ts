import type { EdgeEntryRow } from '../../platform/db/tables/routing.ts'
import type { AssignedCertificate, EdgeState } from './edge-state.ts'

/** The state of the edge as rows: one for each fact about a name. */
export type EdgeEntry = Pick<EdgeEntryRow, 'kind' | 'name' | 'text' | 'tls'>
type Kind = EdgeEntry['kind']

const fieldOf = {
  hostname: 'hostnames',
  waiting: 'waiting',
  refused: 'refused',
  uncertified: 'uncertified',
  certificate: 'certificates',
  servedWrong: 'servedWrong',
  alias: 'aliases',
  assigned: 'assigned',
} as const satisfies Record<Kind, keyof EdgeState>

const kinds = Object.keys(fieldOf) as Kind[]

type Value = string | null | AssignedCertificate

const columnsOf = (value: Value): Pick<EdgeEntry, 'text' | 'tls'> =>
  typeof value === 'object' && value !== null ? { text: value.reason, tls: value.tls } : { text: value, tls: null }

const entryValue = ({ kind, text, tls }: EdgeEntry): Value => (kind === 'assigned' ? { reason: text, tls: tls ?? 'none' } : text)

const isSame = (one: Value, other: Value): boolean => {
  const [left, right] = [columnsOf(one), columnsOf(other)]
  return left.text === right.text && left.tls === right.tls
}

export interface EntryChanges {
  changed: EdgeEntry[]
  removed: Pick<EdgeEntry, 'kind' | 'name'>[]
}

export function entryChanges(before: EdgeState, after: EdgeState): EntryChanges {
  const changes: EntryChanges = { changed: [], removed: [] }
  for (const kind of kinds) {
    const [old, current] = [before[fieldOf[kind]], after[fieldOf[kind]]] as [
      ReadonlyMap<string, Value>,
      ReadonlyMap<string, Value>,
    ]
    if (old === current) continue
    for (const [name, value] of current) {
      const oldValue = old.get(name)
      if (oldValue === undefined || !isSame(oldValue, value)) changes.changed.push({ kind, name, ...columnsOf(value) })
    }
    for (const name of old.keys()) if (!current.has(name)) changes.removed.push({ kind, name })
  }
  return changes
}

/** A state that is built of rows. */
export class EntryMaps {
  readonly #maps = new Map<Kind, Map<string, Value>>(kinds.map((kind) => [kind, new Map()]))

  apply(row: EdgeEntry & Pick<EdgeEntryRow, 'isRemoved'>): void {
    const map = this.#maps.get(row.kind)
    if (row.isRemoved === 1) map?.delete(row.name)
    else map?.set(row.name, entryValue(row))
  }

  /** A new object each time; its maps are shared. */
  state(problem: string | null): EdgeState {
    const fields = Object.fromEntries(kinds.map((kind) => [fieldOf[kind], this.#maps.get(kind)]))
    return Object.freeze({ ...(fields as unknown as Omit<EdgeState, 'problem'>), problem })
  }
}
