import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ResourceLimits, type Transferable, Worker } from 'node:worker_threads'

const idleMs = 5_000

export interface ThreadSettings<Task> {
  /** Source file of the thread's program, which receives a task as a message and replies with a `ThreadAnswer`. */
  program: URL
  max: number
  limits: ResourceLimits
  /** Parts of a task that are transferred instead of copied. */
  transferred?(task: Task): Transferable[]
  /** Makes the error for a failed task from the thread's message. */
  failed(message: string): Error
}

export type ThreadAnswer<Result> = { result: Result } | { failure: string }

interface QueuedTask<Task> {
  task: Task
  resolve: (result: never) => void
  reject: (error: Error) => void
}

/** A thread pool for one kind of work. Threads start on demand and end soon after the work, so that an idle instance has none. */
export class Threads<Task> {
  readonly #settings: ThreadSettings<Task>
  readonly #threads = new Set<Thread<Task>>()
  readonly #queue: QueuedTask<Task>[] = []
  #isClosed = false

  constructor(settings: ThreadSettings<Task>) {
    this.#settings = settings
  }

  run<Result>(task: Task): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new Error('The threads are closed'))
    return new Promise((resolve, reject) => {
      this.#queue.push({ task, resolve, reject })
      this.#next()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const { reject } of this.#queue.splice(0)) reject(new Error('The threads are closed'))
    await Promise.all([...this.#threads].map((thread) => thread.end()))
  }

  #next(): void {
    if (this.#queue.length === 0) return
    const freeThread = [...this.#threads].find((thread) => !thread.isBusy) ?? this.#start()
    if (!freeThread) return
    const queued = this.#queue.shift()!
    void freeThread.run(queued).finally(() => this.#next())
  }

  #start(): Thread<Task> | undefined {
    if (this.#threads.size >= this.#settings.max) return undefined
    const thread = new Thread(this.#settings, () => this.#threads.delete(thread))
    this.#threads.add(thread)
    return thread
  }
}

/** The URL of the thread's program: next to the server in a bundle, the source file in a checkout. */
function programUrl(program: URL): URL {
  const name = basename(fileURLToPath(program)).replace(/\.ts$/, '.js')
  const locations = [new URL(name, import.meta.url), new URL(`../${name}`, import.meta.url)]
  return locations.find((url) => existsSync(fileURLToPath(url))) ?? program
}

class Thread<Task> {
  readonly #settings: ThreadSettings<Task>
  readonly #worker: Worker
  readonly #onEnd: () => void
  #current: QueuedTask<Task> | undefined
  #done: () => void = () => undefined
  #idleTimer: NodeJS.Timeout | undefined

  constructor(settings: ThreadSettings<Task>, onEnd: () => void) {
    this.#settings = settings
    this.#onEnd = onEnd
    this.#worker = new Worker(programUrl(settings.program), {
      stdin: false,
      env: {},
      execArgv: [],
      resourceLimits: settings.limits,
    })
    this.#worker.unref()
    this.#worker.on('message', (answer: ThreadAnswer<never>) => {
      this.#settle(({ resolve, reject }) =>
        'failure' in answer ? reject(settings.failed(answer.failure)) : resolve(answer.result),
      )
    })
    this.#worker.on('error', (error: Error) => this.#settle(({ reject }) => reject(error)))
    this.#worker.on('exit', () => {
      this.#onEnd()
      this.#settle(({ reject }) => reject(new Error('The thread ended')))
    })
  }

  get isBusy(): boolean {
    return this.#current !== undefined
  }

  run(queued: QueuedTask<Task>): Promise<void> {
    clearTimeout(this.#idleTimer)
    this.#current = queued
    const { task } = queued
    return new Promise((resolve) => {
      this.#done = resolve
      // A working thread keeps the process alive; an idle one does not.
      this.#worker.ref()
      this.#worker.postMessage(task, this.#settings.transferred?.(task) ?? [])
    })
  }

  async end(): Promise<void> {
    clearTimeout(this.#idleTimer)
    await this.#worker.terminate()
  }

  #settle(notify: (queued: QueuedTask<Task>) => void): void {
    const queued = this.#current
    if (!queued) return
    this.#current = undefined
    this.#worker.unref()
    this.#idleTimer = setTimeout(() => {
      this.#onEnd()
      void this.end()
    }, idleMs).unref()
    notify(queued)
    this.#done()
  }
}
