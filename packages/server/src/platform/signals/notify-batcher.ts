export interface WireMessage {
  topic: string
  /** Absent: the event was too large or too many were waiting; the receiver reads the state again. */
  event?: object
}

/** PostgreSQL accepts payloads of fewer than 8000 bytes; the rest is for the envelope. */
const batchBytes = 7_800
const maxWaiting = 10_000

/** Events waiting to be sent to the other control planes. The queue is bounded: a flood is replaced by "read again". */
export class NotifyBatcher {
  #waiting: { message: WireMessage; bytes: number }[] = []

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  add(topic: string, event: object): void {
    const message = { topic, event }
    const bytes = sizeOf(message)
    if (this.#waiting.length >= maxWaiting) this.#shrink()
    if (bytes > batchBytes) this.addReread(topic)
    else this.#waiting.push({ message, bytes })
  }

  addReread(topic: string): void {
    const message = { topic }
    this.#waiting.push({ message, bytes: sizeOf(message) })
  }

  /** The oldest messages that fit into one notification. */
  take(): WireMessage[] {
    let bytes = 0
    let count = 0
    while (count < this.#waiting.length) {
      bytes += (this.#waiting[count] as { bytes: number }).bytes
      if (bytes > batchBytes && count > 0) break
      count++
    }
    return this.#waiting.splice(0, count).map(({ message }) => message)
  }

  #shrink(): void {
    const topics = new Set(this.#waiting.map(({ message }) => message.topic))
    this.#waiting = []
    for (const topic of topics) this.addReread(topic)
  }
}

/** Size in a JSON array, including the comma. */
function sizeOf(message: WireMessage): number {
  return Buffer.byteLength(JSON.stringify(message)) + 1
}
