// Worker thread that compresses, encrypts and hashes parts, so that the thread that serves requests is not blocked.

import { parentPort } from 'node:worker_threads'
import { errorMessage } from '../../platform/error-message.ts'
import { collectYoung } from '../../platform/steady-memory.ts'
import { doPartTask, type PartTask } from './part-work.ts'
import { ownsBuffer } from './seal-part.ts'

/** Decrypted bytes after which the garbage is collected. The other tasks leave several copies of a part, so each one collects first. */
const collectAfterBytes = 6 * 1024 * 1024
let decryptedBytes = 0

parentPort?.on('message', (task: PartTask) => {
  if (task.do === 'open') decryptedBytes += task.sealed.length
  // Collects the garbage of the previous tasks first.
  if (task.do !== 'open' || decryptedBytes >= collectAfterBytes) {
    decryptedBytes = 0
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
