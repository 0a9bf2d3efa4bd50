// A thread that compresses, encrypts and hashes parts, so that the one that answers requests does not wait for it.
import { parentPort } from 'node:worker_threads'
import { collectYoung } from '../../platform/steady-memory.ts'
import { doPartTask, type PartTask } from './part-work.ts'

parentPort?.on('message', ({ id, task }: { id: number; task: PartTask }) => {
  // What the last task left behind goes first.
  collectYoung()
  doPartTask(task).then(
    (result) => {
      const bytes = result instanceof Uint8Array ? result : 'sealed' in result ? result.sealed : result.plain
      // A small buffer may be a piece of memory that others use: it is copied. A large one is handed over.
      const isWhole = bytes.byteLength === bytes.buffer.byteLength
      parentPort?.postMessage({ id, result }, isWhole ? [bytes.buffer as ArrayBuffer] : [])
    },
    (error: unknown) => parentPort?.postMessage({ id, failure: error instanceof Error ? error.message : String(error) }),
  )
})
