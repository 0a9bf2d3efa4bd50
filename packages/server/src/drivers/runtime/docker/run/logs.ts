import { setTimeout as pause } from 'node:timers/promises'
import type { OutputLine } from '../../runtime.ts'
import { callEngine, callEngineOrMissing, type Engine, statusOf } from '../engine.ts'
import { framesOf, terminalFramesOf } from './frames.ts'

type PositionedLine = OutputLine & { position: string }

const pollIntervalMs = 250

export interface LogSource {
  engine: Engine
  /** Names or ids of the instance's containers, oldest first. */
  containers(): Promise<string[]>
  hasEnded(): Promise<boolean>
}

/**
 * Lines from a position on. The engine timestamps each line in nanoseconds and keeps the order. A position is the timestamp of
 * a line and the number of returned lines with that timestamp. The number distinguishes lines of the same instant.
 */
export async function* readLogs(
  { engine, containers, hasEnded }: LogSource,
  after: string | null,
  abort: AbortSignal,
): AsyncGenerator<PositionedLine> {
  const position = parsePosition(after)
  while (!abort.aborted) {
    // Checked before reading: lines written before the end are then read in this round.
    const isLast = await hasEnded()
    const all = await containers()
    for (const container of all)
      try {
        yield* readOnce(container, position, !isLast && container === all.at(-1), engine, abort)
      } catch (error) {
        if (abort.aborted || (statusOf(error) === 404 && all.length === 1)) return
        if (statusOf(error) !== 404) throw error
      }
    if (isLast) return
    await pause(pollIntervalMs, undefined, { signal: abort }).catch(() => undefined)
  }
}

interface Position {
  stamp: string
  count: number
}

function parsePosition(after: string | null): Position {
  const [stamp = '', count = '0'] = (after ?? '').split('#')
  return { stamp, count: Number(count) }
}

async function* readOnce(
  container: string,
  position: Position,
  follow: boolean,
  engine: Engine,
  abort: AbortSignal,
): AsyncGenerator<PositionedLine> {
  const end = new AbortController()
  const signal = AbortSignal.any([abort, end.signal])
  const start = { ...position }
  let seenAtStart = 0
  try {
    const stream = await open(container, start.stamp, follow, engine, signal)
    const readFrames = (await hasTerminal(container, engine)) ? terminalFramesOf : framesOf
    for await (const frame of readFrames(stream)) {
      const { stamp, message } = parseFrame(frame.content)
      // The engine starts with all lines of the timestamp. Skips those that an earlier read returned.
      if (stamp === start.stamp && ++seenAtStart <= start.count) continue
      position.count = stamp === position.stamp ? position.count + 1 : 1
      position.stamp = stamp
      yield { time: stamp, stream: frame.stream, message, position: `${position.stamp}#${position.count}` }
    }
  } finally {
    end.abort()
  }
}

const hasTerminal = async (container: string, engine: Engine) =>
  (await callEngineOrMissing(() => engine.getContainer(container).inspect()))?.Config.Tty === true

async function open(containerId: string, stamp: string, follow: boolean, engine: Engine, abortSignal: AbortSignal) {
  const options = {
    stdout: true,
    stderr: true,
    timestamps: true,
    follow,
    abortSignal,
    ...(stamp ? { since: sinceOf(stamp) } : {}),
  }
  // The client's types depend on whether `follow` is a literal. At run time the result is a stream or a buffer.
  const container = engine.getContainer(containerId) as unknown as {
    logs(options: object): Promise<AsyncIterable<Uint8Array> | Buffer>
  }
  const output = await container.logs(options)
  return Buffer.isBuffer(output) ? oneChunk(output) : output
}

async function* oneChunk(chunk: Buffer): AsyncGenerator<Uint8Array> {
  yield chunk
}

/** Seconds since the epoch with nine decimals, as text: a number cannot hold them. */
export function sinceOf(stamp: string): string {
  const [, whole = '', fraction = ''] = /^(.*?)(?:\.(\d+))?Z$/.exec(stamp) ?? []
  return `${Date.parse(`${whole}Z`) / 1000}.${fraction.padEnd(9, '0')}`
}

/** A part of a line that is too long for the engine has no newline and counts as a line. */
function parseFrame(content: Buffer): { stamp: string; message: string } {
  const text = content.toString('utf8').replace(/\r?\n$/, '')
  const space = text.indexOf(' ')
  return space === -1 ? { stamp: text, message: '' } : { stamp: text.slice(0, space), message: text.slice(space + 1) }
}

/** Last lines of output, for error messages. */
export async function lastLines(containerId: string, count: number, engine: Engine): Promise<string[]> {
  try {
    const container = engine.getContainer(containerId)
    const output = await callEngine(
      (abortSignal) => container.logs({ stdout: true, stderr: true, tail: count, follow: false, abortSignal }),
      { timeoutMs: 5_000 },
    )
    const lines: string[] = []
    const readFrames = (await hasTerminal(containerId, engine)) ? terminalFramesOf : framesOf
    for await (const { content } of readFrames(oneChunk(output))) lines.push(content.toString('utf8').trimEnd())
    return lines.slice(-count)
  } catch {
    return []
  }
}
