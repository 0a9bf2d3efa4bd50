import type { RecordBatch } from './request-records.ts'

const congestedBytes = 2_097_152
const maxKeptBytes = 4_194_304

/** Batches of request records on their way to the control plane. They never wait for it longer than the bound allows. */
export class RecordBuffer {
  #batches: RecordBatch[] = []
  #bytes = 0
  #dropped = 0

  add(batch: RecordBatch): void {
    this.#batches.push(batch)
    this.#bytes += batch.json.length
    while (this.#bytes > maxKeptBytes) {
      const oldest = this.#batches.shift()!
      this.#bytes -= oldest.json.length
      this.#dropped += oldest.count + oldest.dropped
    }
  }

  /** Sends what the other side can take now. */
  flush(line: { sendAround(before: string, json: Buffer, after: string): void; readonly waitingBytes: number }): void {
    while (this.#batches.length > 0 && line.waitingBytes < congestedBytes) {
      const batch = this.#batches.shift()!
      this.#bytes -= batch.json.length
      line.sendAround(`{"event":"requests","dropped":${batch.dropped + this.#dropped},"batch":[`, batch.json, ']}')
      this.#dropped = 0
    }
  }

  /** While there is none, records stay with the workers, which drop their oldest. */
  get hasRoom(): boolean {
    return this.#bytes < maxKeptBytes / 4
  }
}
