import type { ChildProcess } from 'node:child_process'
import { processorSeconds, processStat } from '../../platform/process-stat.ts'
import type { ReaderRequest, Reply } from './messages.ts'
import { type ReaderProgram, spawnReader } from './spawn-reader.ts'

/** The process ended before it answered. */
export class ReaderEnded extends Error {
  override readonly name = 'ReaderEnded'
}

/** A child process that reads untrusted project folders, one request at a time. */
export class Reader {
  readonly #child: ChildProcess
  readonly #ended = Promise.withResolvers<never>()
  #onReply: (reply: Reply) => void = () => undefined
  isAlive = true

  constructor(program: ReaderProgram) {
    this.#child = spawnReader(program)
    this.#child.on('message', (reply: Reply) => this.#onReply(reply))
    this.#child.on('error', (cause) => this.#end(new ReaderEnded('the reader process could not be started', { cause })))
    this.#child.on('exit', (code, signal) => this.#end(new ReaderEnded(`the reader process ended with ${signal ?? code}`)))
    this.#ended.promise.catch(() => undefined)
    this.#keepProcessRunning(false)
  }

  async request(request: ReaderRequest, onParts: (parts: unknown[]) => void): Promise<Reply> {
    const { promise, resolve } = Promise.withResolvers<Reply>()
    this.#onReply = (reply) => {
      if (reply.type === 'parts') onParts(reply.parts)
      else if (reply.type !== 'ready') resolve(reply)
    }
    this.#keepProcessRunning(true)
    try {
      this.#child.send(
        request,
        (error) => error && this.#end(new ReaderEnded('a message could not be sent to the reader process', { cause: error })),
      )
      return await Promise.race([promise, this.#ended.promise])
    } finally {
      this.#onReply = () => undefined
      this.#keepProcessRunning(false)
    }
  }

  /** CPU time that the process has used; where the system does not report it, the elapsed time. */
  processorSeconds(): number {
    const stat = processStat(this.#child.pid ?? 0)
    return stat ? processorSeconds(stat) : performance.now() / 1000
  }

  /** Kills the process at once. */
  end(): void {
    this.#child.kill('SIGKILL')
    this.#end(new ReaderEnded('it was ended'))
  }

  #end(why: ReaderEnded): void {
    this.isAlive = false
    this.#ended.reject(why)
  }

  /** An idle reader does not keep this process running. */
  #keepProcessRunning(isHeld: boolean): void {
    const { channel } = this.#child
    if (isHeld) {
      this.#child.ref()
      channel?.ref()
    } else {
      this.#child.unref()
      channel?.unref()
    }
  }
}
