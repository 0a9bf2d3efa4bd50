// Worker thread that measures folders, at a low priority: requests to the instance go first.

import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { type SizeTask, sizesOf } from './folder-size.ts'

// On Linux this sets the priority of this thread alone; on other systems it would be the whole process.
if (process.platform === 'linux') setPriority(0, 10)

parentPort?.on('message', (task: SizeTask) => parentPort?.postMessage({ result: sizesOf(task) }))
