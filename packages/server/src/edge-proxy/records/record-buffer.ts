import type { RecordBatch } from './request-records.ts'

const congestedBytes = 2_097_152
const maxBufferedBytes = 4_194_304

/** Buffers batches of request records for the control plane. Above the size limit the oldest batches are dropped. */
export class RecordBuffer {
  #batches: RecordBatch[] = []
  #bytes = 0
  #dropped = 0

  add(batch: RecordBatch): void {
    this.#batches.push(batch)
    this.#bytes += batch.json.length
    while (this.#bytes > maxBufferedBytes) {
      const oldest = this.#batches.shift()!
      this.#bytes -= oldest.json.length
      this.#dropped += oldest.count + oldest.dropped
    }
  }

  /** Sends batches until the connection is congested. */
  flush(connection: { sendAround(before: string, json: Buffer, after: string): void; readonly waitingBytes: number }): void {
    while (this.#batches.length > 0 && connection.waitingBytes < congestedBytes) {
      const batch = this.#batches.shift()!
      this.#bytes -= batch.json.length
      connection.sendAround(`{"event":"requests","dropped":${batch.dropped + this.#dropped},"batch":[`, batch.json, ']}')
      this.#dropped = 0
    }
  }

  /** If false, records stay in the workers, which drop their oldest. */
  get hasSpace(): boolean {
    return this.#bytes < maxBufferedBytes / 4
  }
}
