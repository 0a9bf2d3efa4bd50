import type { RequestRecord } from '../protocol/request-record.ts'

/** Fields of a record, as the exchange has them. */
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
  /** Output of `recordTail`. */
  tail: string
}

type Owner = Pick<RequestRecord, 'environment' | 'service' | 'deploymentId' | 'projectId'>

/** The owner of a request: known from the table, so serialised once. */
export const recordTail = ({ environment, service, deploymentId, projectId }: Partial<Owner> = {}) =>
  `,${asciiJson({ environment: environment ?? null, service: service ?? null, deploymentId: deploymentId ?? null, projectId: projectId ?? null }).slice(1)}`

const outsideAscii = /[^\0-\x7f]/
const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** JSON in which characters outside ASCII are escaped. */
function asciiJson(value: unknown): string {
  const json = JSON.stringify(value)
  return outsideAscii.test(json) ? json.replaceAll(/[^\0-\x7f]/g, escaped) : json
}

/** Records of ended requests, as comma-separated JSON objects, and how many were dropped before the first. */
export interface RecordBatch {
  json: Buffer
  count: number
  dropped: number
}

interface Block {
  buffer: Buffer
  /** Bytes before this offset were already taken. */
  from: number
  to: number
  count: number
}

const maxPath = 2_048
const maxUserAgent = 512
const blockBytes = 65_536
const comma = 44

/**
 * Records that wait to be sent. They are immediately serialised into memory outside the heap, so that they hold no request in
 * memory and cost the garbage collector nothing. Above the limit the oldest block is dropped, and its records are counted.
 */
export class RequestRecords {
  readonly #maxBlocks: number
  readonly #blocks: Block[] = []
  #dropped = 0

  constructor(maxBytes = 4_194_304) {
    this.#maxBlocks = Math.max(1, Math.floor(maxBytes / blockBytes))
  }

  add(fields: RecordFields): void {
    const text = recordText(fields)
    // A record is ASCII: each character is one byte.
    const block = this.#blockFor(text.length + 1)
    block.to += block.buffer.write(text, block.to, 'latin1')
    block.buffer[block.to] = comma
    block.to += 1
    block.count += 1
  }

  /** Removes and returns the oldest records; undefined if there are none. */
  take(): RecordBatch | undefined {
    const block = this.#blocks[0]
    if (!block || (block.count === 0 && this.#dropped === 0)) return undefined
    const { from, to, count } = block
    const batch = { json: block.buffer.subarray(from, Math.max(from, to - 1)), count, dropped: this.#dropped }
    this.#dropped = 0
    // The block that is being filled stays: the next records are written after the taken ones.
    if (this.#blocks.length > 1) this.#blocks.shift()
    else {
      block.from = to
      block.count = 0
    }
    return batch
  }

  #blockFor(bytes: number): Block {
    const current = this.#blocks.at(-1)
    if (current && current.buffer.length - current.to >= bytes) return current
    const block = { buffer: Buffer.allocUnsafeSlow(blockBytes), from: 0, to: 0, count: 0 }
    if (current && current.count === 0) this.#blocks.pop()
    this.#blocks.push(block)
    if (this.#blocks.length > this.#maxBlocks) this.#dropped += this.#blocks.shift()!.count
    return block
  }
}

let lastSecond = 0
let lastSecondText = ''

/** toISOString for every request is expensive; the part up to the second is shared. */
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

/** Caches the last value: most consecutive requests come from few kinds of client. */
function agentText(userAgent: string): string {
  if (userAgent !== lastAgent) {
    lastAgent = userAgent
    lastAgentText = asciiJson(userAgent.length > maxUserAgent ? userAgent.slice(0, maxUserAgent) : userAgent)
  }
  return lastAgentText
}

/** Milliseconds with two decimals: formatting whole numbers is cheaper than formatting fractions. */
function durationText(durationMs: number): string {
  const hundredths = Math.round(durationMs * 100)
  const part = hundredths % 100
  return `${(hundredths - part) / 100}.${part < 10 ? '0' : ''}${part}`
}

/** The path without the query, which may hold tokens and passwords. */
function pathOf(target: string): string {
  const end = target.indexOf('?')
  return target.slice(0, end === -1 ? maxPath : Math.min(end, maxPath))
}

/** Id, address, method and host need no JSON escaping: the parsers accept no other characters. */
function recordText(fields: RecordFields): string {
  const path = pathOf(fields.path)
  return `{"id":"${fields.id}","time":"${isoTime(fields.timeMs)}","ip":"${fields.ip}","method":"${fields.method}","host":"${fields.host}","path":${asciiJson(path)},"status":${fields.status},"durationMs":${durationText(fields.durationMs)},"bytesIn":${fields.bytesIn},"bytesOut":${fields.bytesOut},"userAgent":${agentText(fields.userAgent)}${fields.tail}`
}
