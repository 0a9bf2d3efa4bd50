import { type ChildProcess, type SendHandle, spawn } from 'node:child_process'
import { supervisedVariable } from '../environment.ts'
import type { ListeningSocket, Order, Report, Role } from './messages.ts'

export interface Program {
  node: string
  /** Node's flags, the launcher, and the arguments of `berth`. */
  args: readonly string[]
  env: NodeJS.ProcessEnv
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

interface Events {
  onReport(report: Report, socket?: ListeningSocket): unknown
  onExit(exit: Exit): unknown
}

/** The worker or the API process of an instance, across its restarts. */
export class SupervisedProcess {
  readonly #program: Program
  readonly #events: Events
  #child: ChildProcess | undefined
  #startedAt = 0
  #hasStarted = false
  #ended: Promise<Exit> | undefined

  constructor(role: Role, { node, args, env }: Program, events: Events) {
    this.#program = { node, args, env: { ...env, BERTH_ROLE: role, [supervisedVariable]: '1' } }
    this.#events = events
  }

  get isRunning(): boolean {
    return this.#child !== undefined
  }

  /** Whether the running process has reported that it works. */
  get hasStarted(): boolean {
    return this.#hasStarted
  }

  /** The end of the running process. */
  get ended(): Promise<Exit> {
    return this.#ended ?? Promise.resolve({ code: 0, signal: null })
  }

  get runMs(): number {
    return performance.now() - this.#startedAt
  }

  start(): void {
    const { node, args, env } = this.#program
    const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env })
    this.#child = child
    this.#startedAt = performance.now()
    this.#hasStarted = false
    child.on('message', (report: Report, socket) => {
      if (report === 'started') this.#hasStarted = true
      this.#events.onReport(report, socket as ListeningSocket | undefined)
    })
    const ended = Promise.withResolvers<Exit>()
    this.#ended = ended.promise
    const end = (exit: Exit) => {
      if (this.#child !== child) return
      this.#child = undefined
      this.#hasStarted = false
      ended.resolve(exit)
      this.#events.onExit(exit)
    }
    child.once('exit', (code, signal) => end({ code, signal }))
    child.once('error', () => end({ code: 1, signal: null }))
  }

  /** Orders wait in the channel until the process reads them. */
  send(order: Order, socket?: ListeningSocket): void {
    // The process may be ending: its exit is reported.
    if (this.#child?.connected) this.#child.send(order, socket as SendHandle, () => undefined)
  }

  kill(): void {
    this.#child?.kill('SIGKILL')
  }
}
