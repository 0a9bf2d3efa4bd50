import type { EdgeTable } from '../../edge-proxy/protocol/edge-table.ts'
import { changePieces, type TablePiece, unknownBase } from '../../edge-proxy/protocol/table-pieces.ts'
import { Mutex } from '../../platform/keyed-mutex.ts'
import type { EdgeApplied } from './edge.ts'
import type { EdgeLink } from './edge-link.ts'

export type SendResult = EdgeApplied

const tokenPrefix = `${Date.now().toString(36)}${Math.floor(Math.random() * 36 ** 6).toString(36)}`

/** Sends tables to an edge, only the differences to the table it has. */
export class TableSender {
  #sent: { link: EdgeLink; token: string; table: EdgeTable } | undefined
  #count = 0
  /** Sends one table at a time; the next waits. */
  readonly #mutex = new Mutex()

  /** Sends the newest table once the previous one was sent; a table that was replaced while it waited is never sent. */
  send(link: EdgeLink, readTable: () => EdgeTable): Promise<SendResult> {
    return this.#mutex.run(() => this.#sendNow(link, readTable()))
  }

  async #sendNow(link: EdgeLink, table: EdgeTable): Promise<SendResult> {
    const previous = this.#tableOf(link)
    this.#sent = undefined
    this.#count += 1
    const token = `${tokenPrefix}-${this.#count}`
    try {
      const result = await this.#sendPieces(link, changePieces(previous?.table, previous?.token ?? null, table, token))
      // Copies the maps, so that later changes by the caller are detected as differences.
      this.#sent = { link, token, table: { ...table, hosts: { ...table.hosts }, certificates: { ...table.certificates } } }
      return result
    } catch (cause) {
      if (!previous || !(cause instanceof Error) || cause.message !== unknownBase) throw cause
      return this.#sendNow(link, table)
    }
  }

  /** The last sent table, if this edge has it. */
  #tableOf(link: EdgeLink): { token: string; table: EdgeTable } | undefined {
    const sent = this.#sent
    return sent && (sent.link === link || sent.token === link.identity.token) ? sent : undefined
  }

  /** Sends piece by piece, each after the previous one is accepted: the edge serves in between, and no data is buffered here. */
  async #sendPieces(link: EdgeLink, pieces: Generator<TablePiece>): Promise<SendResult> {
    let result: SendResult | null = null
    for (const piece of pieces) result = await link.call<SendResult | null>('take', [piece])
    if (!result) throw new Error('the edge did not apply the routing table')
    return result
  }
}
