import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { instanceProcesses } from '../../tests/kit/instance-processes.ts'

interface Watched {
  pid: number
  output(): string
}

/** Lets a Node process that is asked to open its inspector use any free port. */
export const inspectorEnv = { NODE_OPTIONS: '--inspect-port=127.0.0.1:0' }

/**
 * `reachableBytes` for the worker and the API process of a supervised instance, which share one output. Snapshots go to the
 * folder.
 */
export async function reachableBytesOfInstance(instance: Watched, snapshots?: { folder: string; name: string }): Promise<number> {
  let sum = 0
  for (const [role, pid] of Object.entries(instanceProcesses(instance.pid))) {
    const file = snapshots && join(snapshots.folder, `${snapshots.name}-${role}.heapsnapshot`)
    sum += await reachableBytes({ pid, output: instance.output }, file)
  }
  return sum
}

/**
 * Bytes that a Node process started with `inspectorEnv` can still reach, after a garbage collection. With a file name, a heap
 * snapshot is written to it.
 */
async function reachableBytes(watched: Watched, snapshot?: string): Promise<number> {
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

const addresses = new Map<number, string>()

/** Opens a process's inspector and returns its address. Processes may share one output: call this for one after the other. */
async function addressOf({ pid, output }: Watched): Promise<string> {
  const known = addresses.get(pid)
  if (known) return known
  const before = output().length
  process.kill(pid, 'SIGUSR1')
  for (let tries = 0; tries < 100; tries++) {
    const address = /Debugger listening on (ws:\S+)/.exec(output().slice(before))?.[1]
    if (address) {
      addresses.set(pid, address)
      return address
    }
    await pause(100)
  }
  throw new Error(`process ${pid} did not report the address of its inspector`)
}
