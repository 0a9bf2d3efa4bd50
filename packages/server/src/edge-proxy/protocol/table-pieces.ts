import { isDeepStrictEqual } from 'node:util'
import type { EdgeCertificate, EdgeHost, EdgeTable } from './edge-table.ts'

/**
 * A part of a change from one table to the next. Tables are sent, stored and compiled in parts, so that ten thousand hosts never
 * block the serving for long, and adding a host costs no more than that host. A change takes effect with its last part; without it,
 * the change is discarded.
 */
export interface TablePiece {
  /** Id of the table that is changed; null: this is a whole table. */
  base: string | null
  /** Id of the resulting table. */
  token: string
  version: number
  /** null removes the entry. */
  hosts: [name: string, host: EdgeHost | null][]
  certificates: [name: string, pair: EdgeCertificate | null][]
  /** The small sections, always complete; only in the last piece. */
  rest?: TableRest
  last: boolean
}

export type TableRest = Pick<EdgeTable, 'challenges' | 'trustedProxies' | 'limits' | 'publicHttpsPort' | 'deliveries'>

/** Error of an edge that does not have the base of a piece: it must be sent the whole table. */
export const unknownBase = 'unknown base'

const entriesPerPiece = 200

export const wholePieces = (table: EdgeTable, token: string): Generator<TablePiece> => changePieces(undefined, null, table, token)

/** The pieces that change the table sent as `base` into the next one. */
export function* changePieces(
  previous: EdgeTable | undefined,
  base: string | null,
  next: EdgeTable,
  token: string,
): Generator<TablePiece> {
  const hosts = changedEntries(previous?.hosts, next.hosts)
  const certificates = changedEntries(previous?.certificates, next.certificates)
  const { version, challenges, trustedProxies, limits, publicHttpsPort, deliveries } = next
  let at = 0
  const total = hosts.length + certificates.length
  do {
    const to = at + entriesPerPiece
    const last = to >= total
    yield {
      base,
      token,
      version,
      hosts: hosts.slice(at, to),
      certificates: certificates.slice(Math.max(0, at - hosts.length), Math.max(0, to - hosts.length)),
      ...(last ? { rest: { challenges, trustedProxies, limits, publicHttpsPort, deliveries } } : {}),
      last,
    }
    at = to
  } while (at < total)
}

function changedEntries<Value>(
  previous: Record<string, Value> = {},
  next: Record<string, Value> = {},
): [name: string, value: Value | null][] {
  const changed: [string, Value | null][] = []
  for (const name of Object.keys(previous)) if (!Object.hasOwn(next, name)) changed.push([name, null])
  for (const [name, value] of Object.entries(next))
    if (!Object.hasOwn(previous, name) || !isDeepStrictEqual(previous[name], value)) changed.push([name, value])
  return changed
}

/** A table that is assembled from pieces; the last complete one can be read as pieces again. */
export class TableState {
  #token: string | null = null
  #table = emptyDraft()
  #draft: { token: string; table: TableDraft } | undefined

  get token(): string | null {
    return this.#token
  }

  get version(): number {
    return this.#table.version
  }

  /** True if the piece completed a table. */
  take(piece: TablePiece): boolean {
    // A change in one piece is applied in place, without a copy.
    const isSinglePiece = piece.last && piece.base !== null && piece.base === this.#token && this.#draft?.token !== piece.token
    if (isSinglePiece) this.#draft = { token: piece.token, table: this.#table }
    if (this.#draft?.token !== piece.token) this.#draft = { token: piece.token, table: this.#baseOf(piece) }
    const { table } = this.#draft
    putEntries(table.hosts, piece.hosts)
    putEntries(table.certificates, piece.certificates)
    if (!piece.last) return false
    table.version = piece.version
    table.rest = piece.rest ?? {}
    this.#table = table
    this.#token = piece.token
    this.#draft = undefined
    return true
  }

  /** The complete table as pieces. */
  pieces(): Generator<TablePiece> {
    const { version, hosts, certificates, rest } = this.#table
    const table = { version, hosts: Object.fromEntries(hosts), certificates: Object.fromEntries(certificates), ...rest }
    return wholePieces(table, this.#token ?? 'empty')
  }

  #baseOf(piece: TablePiece): TableDraft {
    if (piece.base === null) return emptyDraft()
    if (piece.base !== this.#token) throw new Error(unknownBase)
    const { version, hosts, certificates, rest } = this.#table
    return { version, hosts: new Map(hosts), certificates: new Map(certificates), rest }
  }
}

interface TableDraft {
  version: number
  hosts: Map<string, EdgeHost>
  certificates: Map<string, EdgeCertificate>
  rest: TableRest
}

const emptyDraft = (): TableDraft => ({ version: 0, hosts: new Map(), certificates: new Map(), rest: {} })

export function putEntries<Value>(into: Map<string, Value>, entries: readonly [string, Value | null][]): void {
  for (const [name, value] of entries) {
    if (value === null) into.delete(name)
    else into.set(name, value)
  }
}
