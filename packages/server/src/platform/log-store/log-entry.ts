/** What the log store keeps of a project: what it wrote, what was asked of it, what its deployments wrote. */
export type LogKind = 'runtime' | 'requests' | 'deployments'

/** `id` grows with every entry of a stream and is never given twice, so it serves as SSE's Last-Event-ID. */
interface Numbered {
  id: string
  /** ISO 8601 in UTC. */
  time: string
}

export interface RuntimeEntry extends Numbered {
  stream: 'stdout' | 'stderr'
  /** Absent on lines that were kept before it was recorded. */
  environment?: string | null
  service: string | null
  deploymentId: string | null
  message: string
}

export interface RequestEntry extends Numbered {
  ip: string
  method: string
  host: string
  path: string
  status: number
  durationMs: number
  bytesIn: number
  bytesOut: number
  userAgent: string | null
  environment?: string | null
  service?: string | null
  deploymentId: string | null
}

export interface DeploymentEntry extends Numbered {
  deploymentId: string
  step: string | null
  stream: 'stdout' | 'stderr' | 'system'
  message: string
}

export interface EntryOf {
  runtime: RuntimeEntry
  requests: RequestEntry
  deployments: DeploymentEntry
}

export type AnyEntry = EntryOf[LogKind]

/** An entry to append; without a time, or with one that cannot be read, it is now. */
export type NewEntry<Kind extends LogKind> = Kind extends LogKind
  ? Omit<EntryOf[Kind], 'id' | 'time'> & { time?: string | number | Date }
  : never

const idDigits = 16

/** Ids have one length, so that their texts sort as their numbers do. */
export function formatLogId(id: number): string {
  return String(id).padStart(idDigits, '0')
}

/** Whether a text, such as a client's Last-Event-ID, can be an id. */
export function isLogId(text: string): boolean {
  return /^\d{16}$/.test(text)
}

/** A line begins with `{"id":"<16 digits>"`, so that lines can be skipped by id without being parsed. */
export function idOfLine(line: string): string {
  return line.slice(7, 7 + idDigits)
}

const fieldsOf: { [Kind in LogKind]: readonly (keyof NewEntry<Kind>)[] } = {
  runtime: ['stream', 'environment', 'service', 'deploymentId', 'message'],
  requests: [
    ...(['ip', 'method', 'host', 'path', 'status', 'durationMs', 'bytesIn', 'bytesOut', 'userAgent'] as const),
    ...(['environment', 'service', 'deploymentId'] as const),
  ],
  deployments: ['deploymentId', 'step', 'stream', 'message'],
}

/** Put together field by field, so that the order is fixed and nothing else of what was handed in is kept. */
export function toLine(kind: LogKind, id: number, entry: NewEntry<LogKind>, now: number): string {
  let line = `{"id":"${formatLogId(id)}","time":"${toTime(entry.time, now)}"`
  for (const field of fieldsOf[kind]) {
    const value: unknown = entry[field as keyof typeof entry]
    const bounded = typeof value === 'string' ? cut(value, field === 'message' ? longestMessage : longestField) : value
    line += `,"${field}":${JSON.stringify(bounded ?? null)}`
  }
  return `${line}}\n`
}

/** Null for a line that a crash of the machine left damaged. */
export function parseLine(line: string): AnyEntry | null {
  try {
    const entry = JSON.parse(line) as AnyEntry
    return typeof entry.id === 'string' && isLogId(entry.id) ? entry : null
  } catch {
    return null
  }
}

/**
 * What an index needs of a line, without parsing all of it; a quote inside a message is escaped, so the key is found as text.
 * Nothing returned is a part of the line's own text, which would stay in memory as long as the part does.
 */
export function factsOfLine(line: string): { id: number; time: number; deploymentId: string | null } | null {
  const start = lineStart.exec(line)
  if (!start || !line.endsWith('}')) return null
  const deployment = deploymentField.exec(line)
  try {
    const deploymentId = deployment ? (JSON.parse(deployment[1]!) as string) : null
    return { id: Number(start[1]), time: Date.parse(start[2]!), deploymentId }
  } catch {
    return null
  }
}

const lineStart = /^\{"id":"(\d{16})","time":"([^"]+)"/
const deploymentField = /"deploymentId":("(?:[^"\\]|\\.)*")/

const longestMessage = 16 * 1024
const longestField = 4 * 1024

/** Bounds are of bytes; the mark tells how many there were. */
function cut(text: string, most: number): string {
  if (text.length * 3 <= most) return text
  const bytes = Buffer.byteLength(text)
  if (bytes <= most) return text
  const head = Buffer.from(text.slice(0, most))
  let end = most
  while (((head[end] ?? 0) & 0xc0) === 0x80) end--
  return `${head.subarray(0, end).toString()}… [cut: ${bytes} bytes in all]`
}

function toTime(time: string | number | Date | undefined, now: number): string {
  const ms = time === undefined ? now : typeof time === 'number' ? time : new Date(time).getTime()
  return formatTime(Math.abs(ms) <= 8.64e15 ? Math.trunc(ms) : now)
}

/** Lines come many a second, and only the first of a second has its date worked out. */
let second = Number.NaN
let secondText = ''
function formatTime(ms: number): string {
  const ownSecond = Math.floor(ms / 1000)
  if (ownSecond !== second) {
    secondText = new Date(ownSecond * 1000).toISOString().slice(0, -4)
    second = ownSecond
  }
  return `${secondText}${String(ms - ownSecond * 1000).padStart(3, '0')}Z`
}
