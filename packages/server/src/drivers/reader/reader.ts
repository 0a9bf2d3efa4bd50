import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Question, Reply } from './messages.ts'
import { type ReaderProgram, spawnReader } from './spawn-reader.ts'

/** How a question ended that was not answered. */
export class ReaderEnded extends Error {
  override readonly name = 'ReaderEnded'
}

/** The unit of /proc, the same on every Linux. */
const ticksPerSecond = 100

/** One process that answers one question at a time. */
export class Reader {
  readonly #child: ChildProcess
  readonly #ended = Promise.withResolvers<never>()
  #onReply: (reply: Reply) => void = () => undefined
  isAlive = true

  constructor(program: ReaderProgram) {
    this.#child = spawnReader(program)
    this.#child.on('message', (reply: Reply) => this.#onReply(reply))
    this.#child.on('error', (cause) => this.#end(new ReaderEnded('it could not be started', { cause })))
    this.#child.on('exit', (code, signal) => this.#end(new ReaderEnded(`it ended with ${signal ?? code}`)))
    this.#ended.promise.catch(() => undefined)
    this.#hold(false)
  }

  async ask(question: Question, onParts: (parts: unknown[]) => void): Promise<Reply> {
    const { promise, resolve } = Promise.withResolvers<Reply>()
    this.#onReply = (reply) => {
      if (reply.says === 'parts') onParts(reply.parts)
      else if (reply.says !== 'ready') resolve(reply)
    }
    this.#hold(true)
    try {
      this.#child.send(question, (error) => error && this.#end(new ReaderEnded('it cannot be spoken to', { cause: error })))
      return await Promise.race([promise, this.#ended.promise])
    } finally {
      this.#onReply = () => undefined
      this.#hold(false)
    }
  }

  /** What it has used of a processor since it began; where the machine does not tell, the time that has passed. */
  processorSeconds(): number {
    try {
      const stat = readFileSync(`/proc/${this.#child.pid}/stat`, 'latin1')
      const [user, system] = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .slice(11, 13)
        .map(Number) as [number, number]
      return (user + system) / ticksPerSecond
    } catch {
      return performance.now() / 1000
    }
  }

  /** At once, whatever it is doing. */
  end(): void {
    this.#child.kill('SIGKILL')
    this.#end(new ReaderEnded('it was ended'))
  }

  #end(why: ReaderEnded): void {
    this.isAlive = false
    this.#ended.reject(why)
  }

  /** An idle one does not keep our process running. */
  #hold(isHeld: boolean): void {
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
