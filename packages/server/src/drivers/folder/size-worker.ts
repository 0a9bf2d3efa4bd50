// A thread that adds up folders. It gives way: whoever waits for an answer of the instance goes first.

import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { type SizeTask, sizesOf } from './folder-size.ts'

// On Linux of this thread alone; elsewhere it would be the whole process.
if (process.platform === 'linux') setPriority(0, 10)

parentPort?.on('message', (task: SizeTask) => parentPort?.postMessage({ result: sizesOf(task) }))
