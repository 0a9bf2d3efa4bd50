// Worker thread that compresses, encrypts and hashes parts, so that the thread that serves requests is not blocked.

import { parentPort } from 'node:worker_threads'
import { errorMessage } from '../../platform/error-message.ts'
import { doPartTask, type PartTask } from './part-work.ts'
import { ownsBuffer } from './seal-part.ts'

parentPort?.on('message', (task: PartTask) => {
  doPartTask(task).then(
    (result) => {
      const bytes = result instanceof Uint8Array ? result : 'sealed' in result ? result.sealed : result.plain
      // A small buffer may be part of a shared pool: it is copied. A large one is transferred.
      parentPort?.postMessage({ result }, ownsBuffer(bytes) ? [bytes.buffer as ArrayBuffer] : [])
    },
    (error: unknown) => parentPort?.postMessage({ failure: errorMessage(error) }),
  )
})
