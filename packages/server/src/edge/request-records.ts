/** Fields of a record as the exchange knows them. */
export interface RecordFields {
  id: string
  timeMs: number
  ip: string
  method: string
  host: string
  path: string
  status: number
  durationMs: number
  bytesIn: number
  bytesOut: number
  userAgent: string
  /** From `recordTail`. */
  tail: string
}

/** Deployment and project of a record: known with the table, so made into text once. */
export const recordTail = (deploymentId: string | null, projectId: string | null) =>
  `,"deploymentId":${JSON.stringify(deploymentId)},"projectId":${JSON.stringify(projectId)}}`

/** Records of ended requests as a JSON array in text, and how many were dropped before the first of them. */
export interface RecordBatch {
  json: string
  count: number
  dropped: number
}

const pathAtMost = 2_048
const userAgentAtMost = 512

/**
 * Records that wait to be sent. Each is made into text at once: what waits then holds no request's memory, and the bound is
 * in bytes. Past it the oldest go, and are counted.
 */
export class RequestRecords {
  readonly #bytesAtMost: number
  #waiting: string[] = []
  #first = 0
  #bytes = 0
  #dropped = 0

  constructor(bytesAtMost = 4_194_304) {
    this.#bytesAtMost = bytesAtMost
  }

  get count(): number {
    return this.#waiting.length - this.#first
  }

  add(fields: RecordFields): void {
    const text = recordText(fields)
    this.#waiting.push(text)
    this.#bytes += text.length
    while (this.#bytes > this.#bytesAtMost) this.#dropOldest()
  }

  /** The oldest `countAtMost` records, which are no longer held afterwards. */
  take(countAtMost: number): RecordBatch | undefined {
    if (this.count === 0 && this.#dropped === 0) return undefined
    const texts = this.#waiting.slice(this.#first, this.#first + countAtMost)
    this.#first += texts.length
    for (const text of texts) this.#bytes -= text.length
    this.#compact()
    const dropped = this.#dropped
    this.#dropped = 0
    return { json: `[${texts.join(',')}]`, count: texts.length, dropped }
  }

  #dropOldest(): void {
    this.#bytes -= this.#waiting[this.#first]!.length
    this.#first += 1
    this.#dropped += 1
    if (this.#first > 1_000) this.#compact()
  }

  #compact(): void {
    if (this.#first === 0) return
    this.#waiting = this.#first === this.#waiting.length ? [] : this.#waiting.slice(this.#first)
    this.#first = 0
  }
}

let lastSecond = 0
let lastSecondText = ''

/** toISOString for every request is dear; the part down to the second is shared. */
function isoTime(timeMs: number): string {
  const second = Math.floor(timeMs / 1000)
  if (second !== lastSecond) {
    lastSecond = second
    lastSecondText = new Date(second * 1000).toISOString().slice(0, 20)
  }
  const ms = Math.floor(timeMs - second * 1000)
  return `${lastSecondText}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z`
}

let lastAgent = ''
let lastAgentText = '""'

/** Most requests in a row come from few kinds of client. */
function agentText(userAgent: string): string {
  if (userAgent !== lastAgent) {
    lastAgent = userAgent
    lastAgentText = JSON.stringify(userAgent.length > userAgentAtMost ? userAgent.slice(0, userAgentAtMost) : userAgent)
  }
  return lastAgentText
}

/** Id, address, method and host are of characters that JSON takes as they are: the parsers let no others through. */
function recordText(fields: RecordFields): string {
  const path = fields.path.length > pathAtMost ? fields.path.slice(0, pathAtMost) : fields.path
  return `{"id":"${fields.id}","time":"${isoTime(fields.timeMs)}","ip":"${fields.ip}","method":"${fields.method}","host":"${fields.host}","path":${JSON.stringify(path)},"status":${fields.status},"durationMs":${Math.round(fields.durationMs * 100) / 100},"bytesIn":${fields.bytesIn},"bytesOut":${fields.bytesOut},"userAgent":${agentText(fields.userAgent)}${fields.tail}`
}
