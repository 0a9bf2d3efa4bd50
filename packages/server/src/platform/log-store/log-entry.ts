/** The log streams of a project: program output, HTTP requests, deployment logs, output of scheduled tasks. */
export type LogKind = 'runtime' | 'requests' | 'deployments' | 'tasks'

/** `id` increases with every entry of a stream and is never reused, so it serves as SSE's Last-Event-ID. */
interface Numbered {
  id: string
  /** ISO 8601 in UTC. */
  time: string
}

export interface RuntimeEntry extends Numbered {
  stream: 'stdout' | 'stderr'
  /** Absent on lines that were stored before this field existed. */
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

export interface TaskEntry extends Numbered {
  runId: string
  stream: 'stdout' | 'stderr'
  message: string
}

export interface EntryOf {
  runtime: RuntimeEntry
  requests: RequestEntry
  deployments: DeploymentEntry
  tasks: TaskEntry
}

export type AnyEntry = EntryOf[LogKind]

/** An entry to append; without a valid time, the current time is used. */
export type NewEntry<Kind extends LogKind> = Kind extends LogKind
  ? Omit<EntryOf[Kind], 'id' | 'time'> & { time?: string | number | Date }
  : never

const idDigits = 16

/** Ids have a fixed length, so that they sort as text as they do as numbers. */
export function formatLogId(id: number): string {
  return String(id).padStart(idDigits, '0')
}

/** True if a text, such as a client's Last-Event-ID, has the form of an id. */
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
  tasks: ['runId', 'stream', 'message'],
}

/** Builds the line field by field, so that the order is fixed and unknown fields are dropped. */
export function toLine(kind: LogKind, id: number, entry: NewEntry<LogKind>, now: number): string {
  let line = `{"id":"${formatLogId(id)}","time":"${toTime(entry.time, now)}"`
  for (const field of fieldsOf[kind]) {
    const value: unknown = entry[field as keyof typeof entry]
    const limited = typeof value === 'string' ? truncate(value, field === 'message' ? maxMessageLength : maxFieldLength) : value
    line += `,"${field}":${JSON.stringify(limited ?? null)}`
  }
  return `${line}}\n`
}

/** Null for a line that a crash of the machine damaged. */
export function parseLine(line: string): AnyEntry | null {
  try {
    const entry = JSON.parse(line) as AnyEntry
    return typeof entry.id === 'string' && isLogId(entry.id) ? entry : null
  } catch {
    return null
  }
}

/**
 * The values that an index needs, without parsing the whole line; a quote inside a message is escaped, so the key is found as text.
 * No returned string is a slice of the line, which would keep the whole line in memory.
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

const maxMessageLength = 16 * 1024
const maxFieldLength = 4 * 1024

/** Limits are in bytes; the text ends with a note of the original size. */
function truncate(text: string, max: number): string {
  if (text.length * 3 <= max) return text
  const bytes = Buffer.byteLength(text)
  if (bytes <= max) return text
  const head = Buffer.from(text.slice(0, max))
  let end = max
  while (((head[end] ?? 0) & 0xc0) === 0x80) end--
  return `${head.subarray(0, end).toString()}… [cut: ${bytes} bytes in all]`
}

function toTime(time: string | number | Date | undefined, now: number): string {
  const ms = time === undefined ? now : typeof time === 'number' ? time : new Date(time).getTime()
  return formatTime(Math.abs(ms) <= 8.64e15 ? Math.trunc(ms) : now)
}

/** Caches the formatted date of the current second, since many lines arrive per second. */
let second = Number.NaN
let secondText = ''
function formatTime(ms: number): string {
  const entrySecond = Math.floor(ms / 1000)
  if (entrySecond !== second) {
    secondText = new Date(entrySecond * 1000).toISOString().slice(0, -4)
    second = entrySecond
  }
  return `${secondText}${String(ms - entrySecond * 1000).padStart(3, '0')}Z`
}
