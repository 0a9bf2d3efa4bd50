// Worker thread that compresses, encrypts and hashes parts, so that the thread that serves requests is not blocked.

import { parentPort } from 'node:worker_threads'
import { errorMessage } from '../../platform/error-message.ts'
import { collectYoung } from '../../platform/steady-memory.ts'
import { doPartTask, type PartTask } from './part-work.ts'
import { ownsBuffer } from './seal-part.ts'

/** Garbage of decrypted parts after which it is collected; encrypting leaves several copies, and is collected each time. */
const collectAfterBytes = 6 * 1024 * 1024
let opened = 0

parentPort?.on('message', (task: PartTask) => {
  if (task.do === 'open') opened += task.sealed.length
  // Collects the garbage of the previous tasks first.
  if (task.do !== 'open' || opened >= collectAfterBytes) {
    opened = 0
    collectYoung()
  }
  doPartTask(task).then(
    (result) => {
      const bytes = result instanceof Uint8Array ? result : 'sealed' in result ? result.sealed : result.plain
      // A small buffer may be part of a shared pool: it is copied. A large one is transferred.
      parentPort?.postMessage({ result }, ownsBuffer(bytes) ? [bytes.buffer as ArrayBuffer] : [])
    },
    (error: unknown) => parentPort?.postMessage({ failure: errorMessage(error) }),
  )
})
