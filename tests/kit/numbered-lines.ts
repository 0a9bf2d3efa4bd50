import { setTimeout as pause } from 'node:timers/promises'
import type { Hosting } from './hosting.ts'

/** Source of an app that answers with the identity of its process and logs numbered lines. */
export const numberedLinesApp = `
import { createServer } from 'node:http'
const id = Date.now().toString(36) + '-' + process.pid
createServer((_, response) => response.end(id)).listen(process.env.PORT, process.env.HOST ?? '0.0.0.0')
let line = 0
setInterval(() => console.log('line ' + ++line), 50)
process.on('SIGTERM', () => process.exit(0))
`

/** Numbers of the newest 5,000 lines in the project's log, each with how often it occurs. */
export async function numberedLinesOf({ api }: Pick<Hosting, 'api'>, projectId: string): Promise<Map<number, number>> {
  const { body } = await api('GET', `/projects/${projectId}/logs?tail=5000`)
  const counts = new Map<number, number>()
  for (const { message } of body.data as { message: string }[]) {
    const number = Number(/^line (\d+)$/.exec(message)?.[1] ?? 0)
    if (number) counts.set(number, (counts.get(number) ?? 0) + 1)
  }
  return counts
}

/**
 * Collects the numbered lines of a project's log. The log is read every second, since one response has only the newest lines; a read
 * that fails is skipped, since the instance may be down.
 */
export function collectNumberedLines(hosting: Pick<Hosting, 'api'>, projectId: string) {
  const lines = new Map<number, number>()
  let isStopped = false
  const read = async () => {
    for (const [line, count] of await numberedLinesOf(hosting, projectId)) lines.set(line, count)
  }
  const reading = (async () => {
    while (!isStopped) {
      await read().catch(() => undefined)
      await pause(1_000, undefined, { ref: false })
    }
  })()
  return {
    async stop(): Promise<Map<number, number>> {
      isStopped = true
      await reading
      await read()
      return lines
    },
  }
}

/** Numbers between `first` and the last logged line that are not in the log. */
export function missingLines(counts: Map<number, number>, first = Math.min(...counts.keys())): number[] {
  const last = Math.max(...counts.keys())
  return Array.from({ length: last - first + 1 }, (_, at) => first + at).filter((number) => !counts.has(number))
}
