import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { NotAge } from './age-header.ts'
import type { PartResult, PartTask } from './part-work.ts'

const idleMs = 5_000

interface Waiting {
  task: PartTask
  resolve: (result: never) => void
  reject: (error: Error) => void
}

/** Threads for the work on parts. They are started when there is work and end soon after it, so that an idle instance keeps none. */
export class PartWorkers {
  readonly #most: number
  readonly #threads = new Set<Thread>()
  readonly #queue: Waiting[] = []
  #isClosed = false

  constructor(most = 1) {
    this.#most = most
  }

  run<Task extends PartTask>(task: Task): Promise<PartResult<Task>> {
    if (this.#isClosed) return Promise.reject(new Error('The archive threads are closed'))
    return new Promise((resolve, reject) => {
      this.#queue.push({ task, resolve, reject })
      this.#next()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const { reject } of this.#queue.splice(0)) reject(new Error('The archive threads are closed'))
    await Promise.all([...this.#threads].map((thread) => thread.end()))
  }

  #next(): void {
    if (this.#queue.length === 0) return
    const free = [...this.#threads].find((thread) => !thread.isBusy) ?? this.#start()
    if (!free) return
    const waiting = this.#queue.shift()!
    void free.run(waiting).finally(() => this.#next())
  }

  #start(): Thread | undefined {
    if (this.#threads.size >= this.#most) return undefined
    const thread = new Thread(() => this.#threads.delete(thread))
    this.#threads.add(thread)
    return thread
  }
}

/** The bundle holds the thread's program beside the server's; from sources it is run as it is. */
function program(): URL {
  const bundled = new URL('../part-worker.js', import.meta.url)
  const beside = new URL('./part-worker.js', import.meta.url)
  return [beside, bundled].find((url) => existsSync(fileURLToPath(url))) ?? new URL('./part-worker.ts', import.meta.url)
}

class Thread {
  readonly #worker: Worker
  readonly #onEnd: () => void
  #current: Waiting | undefined
  #done: () => void = () => undefined
  #idle: NodeJS.Timeout | undefined

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
    this.#worker = new Worker(program(), {
      stdin: false,
      env: {},
      execArgv: [],
      // Its bytes are outside of these; without a bound a thread keeps tens of MB of young garbage.
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 },
    })
    this.#worker.unref()
    this.#worker.on('message', (answer: { result?: never; failure?: string }) => {
      const { failure } = answer
      this.#settle(({ resolve, reject }) => (failure === undefined ? resolve(answer.result!) : reject(new NotAge(failure))))
    })
    this.#worker.on('error', (error: Error) => this.#settle(({ reject }) => reject(error)))
    this.#worker.on('exit', () => {
      this.#onEnd()
      this.#settle(({ reject }) => reject(new Error('The archive thread ended')))
    })
  }

  get isBusy(): boolean {
    return this.#current !== undefined
  }

  run(waiting: Waiting): Promise<void> {
    clearTimeout(this.#idle)
    this.#current = waiting
    const { task } = waiting
    const bytes = task.do === 'open' ? task.sealed : task.plain
    const isWhole = bytes.byteLength === bytes.buffer.byteLength
    return new Promise((resolve) => {
      this.#done = resolve
      // While it works the process lives on; an idle thread keeps nobody.
      this.#worker.ref()
      this.#worker.postMessage({ id: 0, task }, isWhole ? [bytes.buffer as ArrayBuffer] : [])
    })
  }

  async end(): Promise<void> {
    clearTimeout(this.#idle)
    await this.#worker.terminate()
  }

  #settle(tell: (waiting: Waiting) => void): void {
    const waiting = this.#current
    if (!waiting) return
    this.#current = undefined
    this.#worker.unref()
    this.#idle = setTimeout(() => {
      this.#onEnd()
      void this.end()
    }, idleMs).unref()
    tell(waiting)
    this.#done()
  }
}
