// A thread that compresses, encrypts and hashes parts, so that the one that answers requests does not wait for it.

import { parentPort } from 'node:worker_threads'
import { errorMessage } from '../../platform/error-message.ts'
import { collectYoung } from '../../platform/steady-memory.ts'
import { doPartTask, type PartTask } from './part-work.ts'
import { isItsOwn } from './seal-part.ts'

/** Opening a part leaves no more behind than this; sealing leaves several copies. */
const collectAfterBytes = 6 * 1024 * 1024
let opened = 0

parentPort?.on('message', (task: PartTask) => {
  if (task.do === 'open') opened += task.sealed.length
  // What the last tasks left behind goes first.
  if (task.do !== 'open' || opened >= collectAfterBytes) {
    opened = 0
    collectYoung()
  }
  doPartTask(task).then(
    (result) => {
      const bytes = result instanceof Uint8Array ? result : 'sealed' in result ? result.sealed : result.plain
      // A small buffer may be a piece of memory that others use: it is copied. A large one is handed over.
      parentPort?.postMessage({ result }, isItsOwn(bytes) ? [bytes.buffer as ArrayBuffer] : [])
    },
    (error: unknown) => parentPort?.postMessage({ failure: errorMessage(error) }),
  )
})
