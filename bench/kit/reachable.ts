import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

interface Watched {
  pid: number
  output(): string
}

/** Lets a Node process that is asked to open its inspector use any free port. */
export const lookedInto = { NODE_OPTIONS: '--inspect-port=127.0.0.1:0' }

/**
 * Bytes that a Node process started with `lookedInto` can still reach, after a garbage collection. With a file name, a heap
 * snapshot is written to it.
 */
export async function reachableBytes(watched: Watched, snapshot?: string): Promise<number> {
  await using session = await open(watched)
  for (let round = 0; round < 3; round++) await session.ask('HeapProfiler.collectGarbage')
  const { usedSize, backingStorageSize = 0 } = (await session.ask('Runtime.getHeapUsage')) as Record<string, number>
  if (snapshot) {
    const file = createWriteStream(snapshot)
    session.onChunk = (chunk) => file.write(chunk)
    await session.ask('HeapProfiler.takeHeapSnapshot')
    file.end()
    await once(file, 'finish')
  }
  return (usedSize ?? 0) + backingStorageSize
}

async function open(watched: Watched) {
  const socket = new WebSocket(await addressOf(watched))
  await once(socket, 'open')
  let last = 0
  const session = {
    onChunk: (_: string): unknown => undefined,
    ask: (method: string) =>
      new Promise<unknown>((resolve) => {
        const id = ++last
        const take = ({ data }: MessageEvent) => {
          const output = JSON.parse(data)
          if (output.method === 'HeapProfiler.addHeapSnapshotChunk') session.onChunk(output.params.chunk)
          if (output.id !== id) return
          socket.removeEventListener('message', take)
          resolve(output.result)
        }
        socket.addEventListener('message', take)
        socket.send(JSON.stringify({ id, method }))
      }),
    async [Symbol.asyncDispose]() {
      socket.close()
      await once(socket, 'close')
    },
  }
  return session
}

async function addressOf({ pid, output }: Watched): Promise<string> {
  const find = () => /Debugger listening on (ws:\S+)/.exec(output())?.[1]
  if (!find()) process.kill(pid, 'SIGUSR1')
  for (let tries = 0; tries < 100 && !find(); tries++) await pause(100)
  return find() ?? Promise.reject(new Error(`${pid} cannot be looked into`))
}
