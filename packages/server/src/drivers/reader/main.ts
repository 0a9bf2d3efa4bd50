// Separate process that reads untrusted folders: a file that blocks it blocks no other work.
import { setPriority } from 'node:os'
import type { Awaitable } from '../../platform/awaitable.ts'
import { readStack } from '../../source/compose/index.ts'
import { detectFolder } from '../../source/detection/index.ts'
import { listSource } from '../../source/list-source.ts'
import type { Question, Reply, TaskName, Tasks } from './messages.ts'

/** Maximum parts per message, so that one message does not block the receiving process. */
const partsAtOnce = 500
/** Maximum size of an answer, which is shown to users and stored in a row. */
const maxAnswer = 4 * 1024 ** 2

process.on('message', (question: Question) => void answer(question))
process.on('disconnect', () => process.exit())
yieldToOthers()
notify({ says: 'ready' })

async function answer({ task, asked: requested }: Question): Promise<void> {
  try {
    const found = await tasks[task](requested as never)
    if (JSON.stringify(found).length > maxAnswer) throw new RangeError('the result is too large')
    notify({ says: 'done', answer: found })
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error('unknown')
    notify({ says: 'failed', name, message: message.slice(0, 1000) })
  }
}

/** The function of each task. */
const tasks: { [Task in TaskName]: (requested: Tasks[Task]['asked']) => Awaitable<Tasks[Task]['answer']> } = {
  detect: ({ folder, options }) => detectFolder(folder, options),
  list,
  readStack: (files) => {
    const { lines: _, ...reading } = readStack(files)
    return reading
  },
}

async function list({ folder, leftOut: excluded }: Tasks['list']['asked']): Promise<null> {
  let parts: unknown[] = []
  for await (const entry of listSource(folder, excluded)) {
    if (parts.push(entry) < partsAtOnce) continue
    await new Promise<void>((sent) => process.send!({ says: 'parts', parts } satisfies Reply, undefined, {}, () => sent()))
    parts = []
  }
  notify({ says: 'parts', parts })
  return null
}

function notify(reply: Reply): void {
  process.send?.(reply)
}

/** Lowers the priority, so that requests come first on a busy machine. */
function yieldToOthers(): void {
  try {
    setPriority(5)
  } catch {
    // Not permitted: it then runs with normal priority.
  }
}
