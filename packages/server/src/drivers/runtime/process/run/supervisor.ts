import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { ListeningSockets } from '../../../../platform/listener/listening-sockets.ts'
import { endReason } from '../../instance-end.ts'
import { type RestartPolicy, shouldRestart } from '../../restart-policy.ts'
import type { InstanceChange, StartRequest } from '../../runtime.ts'
import { StartFailed } from '../../runtime-errors.ts'
import { DiskMeasurement, type Suspicion } from '../disk/disk-use.ts'
import type { FreeSpace } from '../disk/free-space.ts'
import type { Ports } from '../ports/ports.ts'
import { ProgramPorts } from '../ports/program-ports.ts'
import { type ControlGroup, createControlGroup, endControlGroup, openControlGroup } from '../processes/cgroup.ts'
import { exitCodeOf, startDetached } from '../processes/detached.ts'
import type { InstanceRecord, InstanceRecords } from '../processes/instance-record.ts'
import { identityOf, isAlive, killRemainingInGroup, readIdentity, signalGroup } from '../processes/process-table.ts'
import { sendTerminate } from '../processes/send-terminate.ts'
import type { Launch, Sandbox } from '../sandbox/sandbox.ts'

export type Program = Pick<Launch, 'argv' | 'cwd' | 'env' | 'user' | 'shown'> & {
  builtBytes: number | undefined
  /** Settings for a restart after the program exited because its own port was in use. Null: the language has none. */
  otherPortLaunch: Pick<Launch, 'env' | 'shown'> | null
}

/** Delay after the start of the control plane before it reports the end of a process that an earlier control plane started. */
const adoptDelayMs = 500
/** Interval at which such a process is polled. */
const pollIntervalMs = 1_000
const exitWaitMs = 1_000
const maxRestartDelayMs = 30_000
/** Uptime after which earlier restarts no longer count. */
const stableUptimeMs = 60_000
const crashLoopRestarts = 5
const maxProcesses = 1024

/**
 * Keeps one instance running. The process is detached and writes to files, so that it outlives the control plane. A new
 * control plane finds it by its identity and polls for its end, because it is not the parent.
 */
export class InstanceSupervisor {
  readonly record: InstanceRecord
  readonly #records: InstanceRecords
  readonly #sandbox: Sandbox
  readonly #ports: Ports
  readonly #killLeftovers: (instanceId: string) => Promise<void>
  readonly #notify: (change: InstanceChange['kind'], reason: string, supervised: InstanceSupervisor) => void
  readonly #processFile: string
  /** Resolves when a child process of this control plane exits. */
  #exit: Promise<void> = Promise.resolve()
  /** Null for a process that an earlier control plane started. */
  #child: ChildProcess | null = null
  #program: Program | null = null
  #request: StartRequest | null = null
  #policy: RestartPolicy = { name: 'no' }
  #group: ControlGroup | null = null
  /** Memory kills of the group when the process was started. */
  #memoryKills = 0
  #endedAt: string | null = null
  #isStopping = false
  /** A stop is in progress, and some processes may still run. */
  #isEnding = false
  #watchLoop: Promise<void> | null = null
  #disk: DiskMeasurement | null = null
  #runningDiskCheck: Promise<void> | null = null
  readonly #programPorts: ProgramPorts
  /** Set while it is decided whether to restart the ended program at another port. */
  #portDecision: Promise<void> | null = null
  #usesOtherPortLaunch = false
  /** The supervisor waits before the next start. */
  isRestarting = false

  constructor(
    record: InstanceRecord,
    parts: {
      records: InstanceRecords
      sandbox: Sandbox
      ports: Ports
      /** Kills processes that have left the process group as well. */
      killLeftovers: (instanceId: string) => Promise<void>
      notify: (change: InstanceChange['kind'], reason: string, supervised: InstanceSupervisor) => void
      processFileOf: (instanceId: string) => string
      /** How long a program must listen on another port before that counts as its port. */
      otherPortMs: number
    },
  ) {
    this.record = record
    this.#records = parts.records
    this.#sandbox = parts.sandbox
    this.#ports = parts.ports
    this.#killLeftovers = parts.killLeftovers
    this.#notify = parts.notify
    this.#processFile = parts.processFileOf(record.instanceId)
    this.#programPorts = new ProgramPorts(record, parts.records, parts.otherPortMs)
  }

  /** A child process reports its own end. For a process of an earlier control plane the process table is read. */
  get isAlive(): boolean {
    if (this.#child) return this.#child.exitCode === null && this.#child.signalCode === null
    return this.record.process !== null && isAlive(this.record.process)
  }

  get hasEnded(): boolean {
    return !this.isAlive && !this.#isEnding && ((!this.isRestarting && !this.isDecidingPort) || this.#isStopping)
  }

  /** The program has ended and may be restarted at once, at another port. */
  get isDecidingPort(): boolean {
    return this.#portDecision !== null
  }

  /** Waits until the exit code of a process that has just ended is known, and whether it is restarted at once. */
  async waitForExit(): Promise<void> {
    if (this.isAlive) return
    const decision = this.#exit.then(() => this.#portDecision)
    await Promise.race([decision, pause(exitWaitMs, undefined, { ref: false })])
  }

  async findPort(sockets: ListeningSockets): Promise<void> {
    if (this.isAlive) await this.#programPorts.check(sockets)
  }

  /** Addresses as of the last search. */
  get listensOn(): readonly string[] {
    return this.#programPorts.listensOn
  }

  /** Watches the process after a restart of the control plane. Cannot restart it: the caller has its variables and starts it again. */
  adoptExisting(): void {
    // The earlier control plane may have died after it started the process and before it saved the record.
    const launched = readIdentity(this.#processFile)
    if (launched && !this.isAlive && isAlive(launched)) {
      this.record.process = launched
      this.#records.saveEventually(this.record)
    }
    this.#group = openControlGroup(this.record.instanceId)
    this.#memoryKills = this.#group?.memoryKills ?? 0
    this.#watchLoop ??= this.#watch()
  }

  async start(request: StartRequest, program: Program): Promise<void> {
    this.#request = request
    if (request.restart) this.#policy = { name: 'always' }
    this.#program = program
    this.#isStopping = false
    const { cpuCores, memoryMb } = request.resources
    this.#group = createControlGroup(request.instanceId, { cpuCores, memoryMb, processes: maxProcesses })
    this.#records.save(this.record)
    this.#disk?.resetSchedule()
    await this.#spawn()
    this.#watchLoop ??= this.#watch()
  }

  /** Sets the restart policy. It has no effect on a process of an earlier control plane, whose variables are unknown. */
  setRestart(policy: RestartPolicy): void {
    this.#policy = policy
  }

  async #spawn(): Promise<void> {
    const program = this.#program as Program
    const port = this.#request?.port === null ? null : await this.#ports.next()
    const { env, shown } = (this.#usesOtherPortLaunch && program.otherPortLaunch) || program
    const launched = this.#sandbox.launch({
      ...program,
      shown,
      env: { ...env, ...(port === null ? {} : { PORT: String(port) }) },
      groupFolders: this.#group?.folders ?? [],
      processFile: this.#processFile,
      stopsWithControlPlane: false,
    })
    rmSync(this.#processFile, { force: true })
    this.#programPorts.reset()
    this.#memoryKills = this.#group?.memoryKills ?? 0
    this.#endedAt = null
    const { instanceId } = this.record
    const file = (stream: 'stdout' | 'stderr') => this.#records.outputFile(instanceId, stream)
    const child = await startDetached(launched, { stdout: file('stdout'), stderr: file('stderr') }).catch((error: Error) => {
      throw new StartFailed(`The program could not be started: ${error.message}`)
    })
    this.#recordStart(child, port)
  }

  #recordStart(child: ChildProcess, port: number | null): void {
    this.#child = child
    this.#exit = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.record.exitCode = exitCodeOf(code, signal)
        this.#endedAt = new Date().toISOString()
        if (port !== null && !this.#isStopping) this.#decidePort()
        resolve()
      })
    })
    child.unref()
    Object.assign(this.record, {
      process: identityOf(child.pid as number),
      place: this.#records.folderIdOf(this.record.instanceId),
      isInside: this.#sandbox.hasPidNamespace,
      shown: this.#program?.shown ?? [],
      diskMb: this.#request?.resources.diskMb,
      builtBytes: this.#program?.builtBytes,
      diskFull: false,
      port,
      hintedPort: this.#request?.port,
      listensAt: undefined,
      portTaken: null,
      startedAt: new Date().toISOString(),
      exitCode: null,
      outOfMemory: false,
    })
    this.#records.saveEventually(this.record)
  }

  /** Runs from the exit event on, so that the instance is not reported as ended before the decision. */
  #decidePort(): void {
    const decision = this.#restartOnOtherPort()
      .catch(() => undefined)
      .finally(() => {
        if (this.#portDecision === decision) this.#portDecision = null
      })
    this.#portDecision = decision
  }

  /** Restarts a program once that ended because its port was in use, so that it listens on PORT if it can. */
  async #restartOnOtherPort(): Promise<void> {
    this.record.portTaken = await this.#programPorts.findTakenPort()
    if (this.record.portTaken === null || this.#usesOtherPortLaunch || !this.#program?.otherPortLaunch) return
    await this.#killRemaining()
    if (this.#isStopping) return
    this.#usesOtherPortLaunch = true
    await this.#spawnAgain()
  }

  async #watch(): Promise<void> {
    if (!this.#child) await pause(adoptDelayMs, undefined, { ref: false })
    while (!this.#isStopping) {
      await this.#untilEnded()
      await this.#portDecision
      if (this.#isStopping) break
      if (this.isAlive) continue
      await this.#killRemaining()
      this.#recordEnd()
      const { exitCode, restarts, diskFull } = this.record
      const willRestart = shouldRestart(this.#policy, exitCode, restarts) && this.#program !== null && !diskFull
      if (!willRestart) {
        this.#notify('exited', this.#endMessage(), this)
        break
      }
      await this.#restart()
    }
    this.#watchLoop = null
  }

  /** Saves the end before it is reported, if the disk has space: a control plane that is killed in between finds it. */
  #recordEnd(): void {
    const { record } = this
    record.outOfMemory = (this.#group?.memoryKills ?? 0) > this.#memoryKills
    const { exitCode, outOfMemory, diskFull = false } = record
    const reason = endReason(exitCode, { outOfMemory, diskFull })
    record.lastEnd = { at: this.#endedAt ?? new Date().toISOString(), exitCode, reason }
    this.#records.saveEventually(record)
  }

  async #untilEnded(): Promise<void> {
    while (!this.#child && this.isAlive && !this.#isStopping) await pause(pollIntervalMs, undefined, { ref: false })
    await this.#exit
  }

  get diskMeasuredAt(): number {
    return this.#disk?.measuredAt ?? 0
  }

  /** Cheap check, with the disk's free space, whether a measurement is due. */
  needsDiskCheck(freeSpace: FreeSpace): boolean {
    if (this.#runningDiskCheck || !this.isAlive) return false
    this.#disk ??= this.#createDiskMeasurement()
    return this.#disk?.isDue(freeSpace) ?? false
  }

  async assessDiskWrites(freeSpace: FreeSpace): Promise<Suspicion> {
    return (await this.#disk?.assessWrites(freeSpace, this.#group?.pids())) ?? 'none'
  }

  checkDisk(): Promise<void> {
    this.#runningDiskCheck ??= this.#checkDisk().finally(() => {
      this.#runningDiskCheck = null
    })
    return this.#runningDiskCheck
  }

  #createDiskMeasurement(): DiskMeasurement | null {
    const { shown = [], diskMb, builtBytes } = this.record
    const [app, ...countedFolders] = shown.filter(({ readOnly }) => !readOnly).map(({ path }) => path)
    return app && diskMb
      ? new DiskMeasurement({ growingFolder: app, initialBytes: builtBytes, countedFolders, limitMb: diskMb })
      : null
  }

  /** Measures the disk usage, which control groups do not limit. Kills an instance over its limit; it stays ended until it is started. */
  async #checkDisk(): Promise<void> {
    const { process: identity } = this.record
    if (!this.#disk || !identity) return
    const exceedsLimit = await this.#disk.exceedsLimit(this.#group?.pids()).catch(() => false)
    if (!exceedsLimit || this.#isStopping || !isAlive(identity)) return
    this.record.diskFull = true
    signalGroup(identity, 'SIGKILL')
    this.#group?.kill()
  }

  async #restart(): Promise<void> {
    const uptimeMs = Date.now() - Date.parse(this.record.startedAt ?? '')
    if (uptimeMs > stableUptimeMs) this.record.restarts = 0
    this.record.restarts += 1
    this.isRestarting = true
    this.#notify(this.record.restarts === crashLoopRestarts ? 'crash_loop' : 'restarted', this.#endMessage(), this)
    await pause(Math.min(maxRestartDelayMs, 500 * 2 ** Math.min(this.record.restarts, 10)), undefined, { ref: false })
    this.isRestarting = false
    if (!this.#isStopping) await this.#spawnAgain()
  }

  async #spawnAgain(): Promise<void> {
    const startError = await this.#spawn().then(
      () => null,
      (error: unknown) => (error as Error).message,
    )
    // A stop during the start has not seen this process.
    if (this.#isStopping && this.record.process) signalGroup(this.record.process, 'SIGKILL')
    else if (startError === null) this.#notify('moved', 'it runs again, at another address', this)
    else this.#notify('exited', startError, this)
  }

  #endMessage(): string {
    if (this.record.diskFull) return `it was stopped because it exceeded its disk limit of ${this.record.diskMb} MB`
    if (this.record.outOfMemory) return 'it was stopped because it exceeded its memory limit'
    if (this.record.portTaken) return `it exited because its port ${this.record.portTaken} is used by another program`
    return this.record.exitCode === null ? 'it ended' : `it ended with exit code ${this.record.exitCode}`
  }

  async stop(graceSeconds: number): Promise<void> {
    this.#isStopping = true
    await this.#portDecision
    const { process: identity } = this.record
    if (identity) {
      this.#isEnding = true
      const members = () => this.#group?.pids()
      await sendTerminate(identity, {
        hasPidNamespace: this.record.isInside === true,
        members,
        deadline: Date.now() + graceSeconds * 1000,
      })
      signalGroup(identity, 'SIGKILL')
      for (let round = 0; round < 100 && isAlive(identity); round++) await pause(20)
    }
    await this.#killRemaining()
    this.#isEnding = false
    this.#group?.kill()
    this.#group?.remove()
    // A group that an earlier control plane created after this one had looked for it.
    if (!this.#group) endControlGroup(this.record.instanceId)
  }

  /** Kills all processes that the ended program left. */
  async #killRemaining(): Promise<void> {
    if (this.record.process) killRemainingInGroup(this.record.process)
    if (!this.record.isInside) await this.#killLeftovers(this.record.instanceId)
  }
}
