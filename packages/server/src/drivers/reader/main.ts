// Separate process that reads untrusted folders: a file that blocks it blocks no other work.
import { setPriority } from 'node:os'
import type { Awaitable } from '../../platform/awaitable.ts'
import { readStack } from '../../source/compose/index.ts'
import { detectFolder } from '../../source/detection/index.ts'
import { listSource } from '../../source/list-source.ts'
import type { ReaderRequest, Reply, TaskName, Tasks } from './messages.ts'

/** Maximum parts per message, so that one message does not block the receiving process. */
const partsPerMessage = 500
/** Maximum size of an answer, which is shown to users and stored in a row. */
const maxResultLength = 4 * 1024 ** 2

process.on('message', (question: ReaderRequest) => void handleRequest(question))
process.on('disconnect', () => process.exit())
lowerPriority()
sendReply({ type: 'ready' })

async function handleRequest({ task, input: requested }: ReaderRequest): Promise<void> {
  try {
    const found = await tasks[task](requested as never)
    if (JSON.stringify(found).length > maxResultLength) throw new RangeError('the result is too large')
    sendReply({ type: 'done', answer: found })
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error('unknown')
    sendReply({ type: 'failed', name, message: message.slice(0, 1000) })
  }
}

/** The function of each task. */
const tasks: { [Task in TaskName]: (requested: Tasks[Task]['input']) => Awaitable<Tasks[Task]['answer']> } = {
  detect: ({ folder, options }) => detectFolder(folder, options),
  list,
  readStack: (files) => {
    const { lines: _, ...reading } = readStack(files)
    return reading
  },
}

async function list({ folder, excluded }: Tasks['list']['input']): Promise<null> {
  let parts: unknown[] = []
  for await (const entry of listSource(folder, excluded)) {
    if (parts.push(entry) < partsPerMessage) continue
    await new Promise<void>((sent) => process.send!({ type: 'parts', parts } satisfies Reply, undefined, {}, () => sent()))
    parts = []
  }
  sendReply({ type: 'parts', parts })
  return null
}

function sendReply(reply: Reply): void {
  process.send?.(reply)
}

/** Lowers the priority, so that requests come first on a busy machine. */
function lowerPriority(): void {
  try {
    setPriority(5)
  } catch {
    // Not permitted: it then runs with normal priority.
  }
}
