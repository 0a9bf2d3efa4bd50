import { type ListeningSocket, type Order, type Report, type Role, type StopSignal, titles } from './messages.ts'
import { type Exit, type Program, SupervisedProcess } from './supervised-process.ts'

/** Time limit of a shutdown, a little longer than the worker's own. */
const maxStopMs = 14_500
/** Time that the API process has for requests in progress, before the worker is stopped. */
const maxApiStopMs = 5_000
/** A process that ran this long is started again at once; otherwise each restart waits twice as long as the previous one. */
const steadyMs = 3_000
const firstPauseMs = 250
const longestPauseMs = 30_000
/** New connections wait for an API process that is started again within this time; after it they are refused. */
const maxConnectionWaitMs = 1_000
/** The same for an upgrade, whose migration takes a few seconds. */
const maxReleaseWaitMs = 15_000

export type Programs = Readonly<Record<Role, Program>>

export interface SupervisorOptions {
  /** Programs of the two processes. */
  programs: Programs
  log(message: string): void
  /** Called once, when both processes have started for the first time. */
  onReady?(): void
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
  #processes: Readonly<Record<Role, SupervisedProcess>>
  readonly #pauses: Record<Role, number> = { worker: 0, api: 0 }
  #programs: Programs
  #isDatabaseOpen = false
  /** The socket on which the API process listens. */
  #socket: ListeningSocket | undefined
  /** Both processes have started once. */
  #isReady = false
  /** The worker ends for a reason that it has printed: it is not started again. */
  #isOver = false
  #stopping: StopSignal | undefined
  /** An upgrade starts and ends the processes: a process that ends is not started again by the supervisor. */
  #isReleased = false
  /** A signal that arrived during an upgrade; it takes effect at `resume`. */
  #stopAfterRelease: StopSignal | undefined
  #onStarted: (() => void) | undefined
  /** The exit code once both have ended; set when the end is certain. */
  #exitCode: number | undefined

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#programs = options.programs
    this.#processes = this.#processesOf(options.programs)
  }

  #processesOf(programs: Programs): Readonly<Record<Role, SupervisedProcess>> {
    const processOf = (role: Role) => {
      // Reports and the end of a process that an upgrade has replaced are ignored.
      const isCurrent = () => this.#processes[role] === one
      const one: SupervisedProcess = new SupervisedProcess(role, programs[role], {
        onReport: (report, socket) => (isCurrent() ? this.#noteReport(role, report, socket) : socket?.close()),
        onExit: (exit) => isCurrent() && this.#noteExit(role, exit),
      })
      return one
    }
    return { worker: processOf('worker'), api: processOf('api') }
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
    if (this.#isReleased) {
      this.#stopAfterRelease ??= signal
      this.#keepSocket(undefined)
      setTimeout(() => this.#giveUp(), maxStopMs).unref()
      return
    }
    // A second Ctrl-C does not wait for requests or projects.
    if (this.#stopping) {
      api.kill()
      if (signal !== 'SIGTERM') worker.send(signal)
      return
    }
    this.#stopping = signal
    this.#keepSocket(undefined)
    setTimeout(() => this.#giveUp(), maxStopMs)
    setTimeout(() => api.kill(), maxApiStopMs).unref()
    if (api.isRunning) api.send(signal)
    else this.#stopWorker(signal)
  }

  /** A signal has arrived that stops the instance. */
  get isStopping(): boolean {
    return this.#stopping !== undefined || this.#stopAfterRelease !== undefined || this.#exitCode !== undefined
  }

  get isReleased(): boolean {
    return this.#isReleased
  }

  /** Ends both processes and leaves the edge and the projects running. Until `resume`, an upgrade starts and ends the processes. */
  async release(): Promise<void> {
    if (!this.#isReady || (this.isStopping && !this.#isReleased)) throw new Error('The instance is starting or stopping')
    this.#isReleased = true
    setTimeout(() => this.#isReleased && this.#keepSocket(undefined), maxReleaseWaitMs).unref()
    await endProcess(this.#processes.api, 'SIGTERM', maxApiStopMs)
    await endProcess(this.#processes.worker, 'release', maxStopMs)
  }

  /** Starts processes of these programs. Rejects if one of them ends or if they have not started in time. */
  async startReleased(programs: Programs, maxMs: number): Promise<void> {
    const started = new Promise<'started'>((resolve) => {
      this.#onStarted = () => resolve('started')
    })
    this.#prepare(programs)
    this.start()
    const ended = (Object.keys(titles) as Role[]).map(async (role) => {
      const { code, signal } = await this.#processes[role].ended
      return `the ${titles[role]} ended (${signal ?? `exit code ${code}`}) before it had started`
    })
    const timer = Promise.withResolvers<string>()
    const timeout = setTimeout(() => timer.resolve(`it had not started after ${maxMs / 1000} s`), maxMs)
    const outcome = await Promise.race([started, ...ended, timer.promise])
    clearTimeout(timeout)
    this.#onStarted = undefined
    if (outcome !== 'started') throw new Error(outcome)
  }

  /** Supervises the running processes again, or starts the given programs. */
  resume(programs?: Programs): void {
    if (!this.#isReleased) return
    const signal = this.#stopAfterRelease
    this.#isReleased = false
    this.#stopAfterRelease = undefined
    if (signal) {
      if (programs) this.#prepare(programs)
      this.stop(signal)
      return
    }
    if (!programs && Object.values(this.#processes).every(({ isRunning }) => isRunning)) return
    for (const one of Object.values(this.#processes)) one.kill()
    this.#prepare(programs)
    this.start()
  }

  #prepare(programs: Programs | undefined): void {
    if (programs) this.#programs = programs
    this.#processes = this.#processesOf(this.#programs)
    this.#isDatabaseOpen = false
    this.#isOver = false
    this.#pauses.api = 0
    this.#pauses.worker = 0
  }

  #noteReport(role: Role, report: Report, socket: ListeningSocket | undefined): void {
    const { worker, api } = this.#processes
    if (report === 'over') this.#isOver = true
    if (report === 'database' && !this.#isDatabaseOpen) {
      this.#isDatabaseOpen = true
      api.send('open', this.#socket)
    }
    if (report === 'listening') this.#keepSocket(socket)
    if (report !== 'started') return
    if (this.#isReleased) {
      if (worker.hasStarted && api.hasStarted) this.#onStarted?.()
    } else if (this.#isReady) this.#options.log(`the ${titles[role]} runs again`)
    else if (worker.hasStarted && api.hasStarted) {
      this.#isReady = true
      worker.send('ready')
      this.#options.onReady?.()
    }
  }

  #noteExit(role: Role, exit: Exit): void {
    const { worker, api } = this.#processes
    if (this.#isReleased) return
    if (this.#exitCode !== undefined) this.#endIfAllEnded()
    else if (role === 'worker' && (this.#stopping || this.#isOver || exit.code === 0)) {
      api.send('SIGTERM')
      this.#endWith(exit.code ?? 1)
    } else if (this.#stopping) this.#stopWorker(this.#stopping)
    else if (this.#isReady) this.#startAgain(role, exit)
    else {
      if (role === 'worker') api.kill()
      else worker.send('abandon')
      this.#endWith(exit.code ?? 1)
    }
  }

  #stopWorker(signal: StopSignal): void {
    const { worker } = this.#processes
    if (worker.isRunning) worker.send(signal)
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
      if (this.#stopping || this.#isReleased || one !== this.#processes[role] || this.#exitCode !== undefined) return
      one.start()
      if (role === 'api' && this.#isDatabaseOpen) one.send('open', this.#socket)
    }, pauseMs)
  }

  #keepSocket(socket: ListeningSocket | undefined): void {
    this.#socket?.close()
    this.#socket = this.isStopping ? undefined : socket
    if (this.isStopping) socket?.close()
  }

  /** Ends a start like a program that exits on a signal. Projects and the edge keep running. */
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

/** Resolves when the process has ended. A process that has not started yet is killed, because it does not read orders yet. */
async function endProcess(one: SupervisedProcess, order: Order, maxMs: number): Promise<void> {
  if (!one.isRunning) return
  if (one.hasStarted) one.send(order)
  else one.kill()
  const timer = setTimeout(() => one.kill(), maxMs)
  await one.ended
  clearTimeout(timer)
}
