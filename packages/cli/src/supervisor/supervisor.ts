import { type ListeningSocket, type Report, type Role, type StopSignal, titles } from './messages.ts'
import { type Exit, type Program, SupervisedProcess } from './supervised-process.ts'

/** Time limit of a shutdown, a little longer than the worker's own. */
const maxStopMs = 14_500
/** Time that the API process has for requests in progress, before the worker is stopped. */
const maxApiStopMs = 5_000
/** A process that ran this long is started again at once; otherwise each restart waits twice as long as the one before. */
const steadyMs = 3_000
const firstPauseMs = 250
const longestPauseMs = 30_000
/** New connections wait for an API process that is started again within this time; after it they are refused. */
const maxConnectionWaitMs = 1_000

export interface SupervisorOptions {
  /** Programs of the two processes. */
  programs: Readonly<Record<Role, Program>>
  log(message: string): void
  /** Called once, with the exit code of the instance, or the signal that ended its start. */
  end(code: number, signal?: StopSignal): void
  /** Stops the edge and the projects while no worker runs that could. */
  stopLeftRunning(signal: StopSignal): void
}

/**
 * Starts the worker and the API process of an instance, and starts one again that ends by itself. A stop ends the API process first,
 * as its requests may need the worker.
 */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #processes: Readonly<Record<Role, SupervisedProcess>>
  readonly #pauses: Record<Role, number> = { worker: 0, api: 0 }
  #isDatabaseOpen = false
  /** The socket on which the API process listens. */
  #socket: ListeningSocket | undefined
  /** Both processes have started once. */
  #isReady = false
  /** The worker ends for good. */
  #isOver = false
  #stopping: StopSignal | undefined
  /** The exit code once both have ended; set when the end is certain. */
  #exitCode: number | undefined

  constructor(options: SupervisorOptions) {
    this.#options = options
    const processOf = (role: Role) =>
      new SupervisedProcess(role, options.programs[role], {
        onReport: (report, socket) => this.#noteReport(role, report, socket),
        onExit: (exit) => this.#noteExit(role, exit),
      })
    this.#processes = { worker: processOf('worker'), api: processOf('api') }
  }

  start(): void {
    this.#processes.worker.start()
    this.#processes.api.start()
  }

  stop(signal: StopSignal): void {
    const { worker, api } = this.#processes
    if (!this.#isReady) {
      this.#endStart(signal)
      return
    }
    // A second Ctrl-C does not wait for requests or projects.
    if (this.#stopping) {
      api.kill()
      if (signal !== 'SIGTERM') worker.tell(signal)
      return
    }
    this.#stopping = signal
    this.#keepSocket(undefined)
    setTimeout(() => this.#giveUp(), maxStopMs)
    setTimeout(() => api.kill(), maxApiStopMs).unref()
    if (api.isRunning) api.tell(signal)
    else this.#stopWorker(signal)
  }

  #noteReport(role: Role, report: Report, socket: ListeningSocket | undefined): void {
    const { worker, api } = this.#processes
    if (report === 'over') this.#isOver = true
    if (report === 'database' && !this.#isDatabaseOpen) {
      this.#isDatabaseOpen = true
      api.tell('open')
    }
    if (report === 'listening') this.#keepSocket(socket)
    if (report !== 'started') return
    if (this.#isReady) this.#options.log(`the ${titles[role]} runs again`)
    else if (worker.hasStarted && api.hasStarted) {
      this.#isReady = true
      worker.tell('ready')
    }
  }

  #noteExit(role: Role, exit: Exit): void {
    const { worker, api } = this.#processes
    if (this.#exitCode !== undefined) this.#endIfAllEnded()
    else if (role === 'worker' && (this.#stopping || this.#isOver || exit.code === 0)) {
      api.tell('SIGTERM')
      this.#endWith(exit.code ?? 1)
    } else if (this.#stopping) this.#stopWorker(this.#stopping)
    else if (this.#isReady) this.#startAgain(role, exit)
    else {
      if (role === 'worker') api.kill()
      else worker.tell('abandon')
      this.#endWith(exit.code ?? 1)
    }
  }

  #stopWorker(signal: StopSignal): void {
    const { worker } = this.#processes
    if (worker.isRunning) worker.tell(signal)
    else {
      this.#options.stopLeftRunning(signal)
      this.#endWith(0)
    }
  }

  #startAgain(role: Role, { code, signal }: Exit): void {
    const one = this.#processes[role]
    const pauseMs = one.runMs >= steadyMs ? 0 : Math.min(longestPauseMs, Math.max(firstPauseMs, this.#pauses[role] * 2))
    this.#pauses[role] = pauseMs
    if (role === 'api' && pauseMs > maxConnectionWaitMs) this.#keepSocket(undefined)
    const when = pauseMs === 0 ? '' : ` in ${pauseMs / 1000} s`
    this.#options.log(`the ${titles[role]} has ended (${signal ?? `exit code ${code}`}) and is started again${when}`)
    setTimeout(() => {
      if (this.#stopping || this.#exitCode !== undefined) return
      one.start()
      if (role === 'api' && this.#isDatabaseOpen) one.tell('open', this.#socket)
    }, pauseMs)
  }

  #keepSocket(socket: ListeningSocket | undefined): void {
    this.#socket?.close()
    this.#socket = this.#stopping ? undefined : socket
    if (this.#stopping) socket?.close()
  }

  /** Ends a start as a signal ends any program; what ran before it is left running. */
  #endStart(signal: StopSignal): void {
    this.#exitCode = 1
    for (const one of Object.values(this.#processes)) one.kill()
    this.#options.end(1, signal)
  }

  #endWith(code: number): void {
    this.#exitCode = code
    setTimeout(() => this.#giveUp(), maxStopMs).unref()
    this.#endIfAllEnded()
  }

  #endIfAllEnded(): void {
    if (Object.values(this.#processes).some(({ isRunning }) => isRunning)) return
    this.#options.end(this.#exitCode ?? 1)
  }

  #giveUp(): void {
    for (const one of Object.values(this.#processes)) one.kill()
    this.#options.end(this.#exitCode || 1)
  }
}
