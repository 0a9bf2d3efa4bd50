import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { ListeningSockets } from '../../../../platform/listener/listening-sockets.ts'
import { endReason } from '../../instance-end.ts'
import { isRestarted, type RestartPolicy } from '../../restart-policy.ts'
import type { InstanceChange, StartRequest } from '../../runtime.ts'
import { StartFailed } from '../../runtime.ts'
import type { Room } from '../disk/disk-room.ts'
import { DiskMeasurement, type Suspicion } from '../disk/disk-use.ts'
import type { Ports } from '../ports/ports.ts'
import { ProgramPorts } from '../ports/program-ports.ts'
import { type ControlGroup, createControlGroup } from '../processes/cgroup.ts'
import { exitCodeOf, startDetached } from '../processes/detached.ts'
import type { InstanceRecord, InstanceRecords } from '../processes/instance-record.ts'
import { endLeftInGroup, identityOf, isAlive, readIdentity, signalGroup } from '../processes/process-table.ts'
import { sendTerminate } from '../processes/send-terminate.ts'
import type { Launch, Sandbox } from '../sandbox/sandbox.ts'

export type Program = Pick<Launch, 'argv' | 'cwd' | 'env' | 'who' | 'shown'> & {
  builtBytes: number | undefined
  /** Changes to the launch after the program ended because its port was in use. Null if the language has no such remedy. */
  onTakenPort: Pick<Launch, 'env' | 'shown'> | null
}

/** Delay after the start of the control plane before the end of an earlier process is reported, then the polling interval. */
const takeUpMs = 500
const pollIntervalMs = 1_000
const exitMs = 1_000
const maxPauseMs = 30_000
/** Uptime after which earlier restarts no longer count. */
const settledMs = 60_000
const restartsOfALoop = 5
const processes = 1024

/**
 * Keeps one instance running. The process is detached and writes to files, so that it outlives the control plane. A new
 * control plane finds it by its identity and polls for its end, because it is not the parent.
 */
export class Supervised {
  readonly record: InstanceRecord
  readonly #records: InstanceRecords
  readonly #sandbox: Sandbox
  readonly #ports: Ports
  readonly #killLeftovers: (instanceId: string) => Promise<void>
  readonly #notify: (change: InstanceChange['kind'], reason: string, supervised: Supervised) => void
  readonly #note: string
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
  #stopping = false
  /** A stop is under way, and some of its processes may still run. */
  #isEnding = false
  #watching: Promise<void> | null = null
  #disk: DiskMeasurement | null = null
  #checking: Promise<void> | null = null
  readonly #programPorts: ProgramPorts
  /** Set while it is decided whether to restart the ended program at another port. */
  #validated: Promise<void> | null = null
  #hasTakenPort = false
  /** The pause before the next start is under way. */
  isRestarting = false

  constructor(
    record: InstanceRecord,
    parts: {
      records: InstanceRecords
      sandbox: Sandbox
      ports: Ports
      /** Kills processes that have left the process group as well. */
      killLeftovers: (instanceId: string) => Promise<void>
      notify: (change: InstanceChange['kind'], reason: string, supervised: Supervised) => void
      noteOf: (instanceId: string) => string
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
    this.#note = parts.noteOf(record.instanceId)
    this.#programPorts = new ProgramPorts(record, parts.records, parts.otherPortMs)
  }

  /** A child process reports its own end. For a process of an earlier control plane the process table is read. */
  get isAlive(): boolean {
    if (this.#child) return this.#child.exitCode === null && this.#child.signalCode === null
    return this.record.process !== null && isAlive(this.record.process)
  }

  get hasEnded(): boolean {
    return !this.isAlive && !this.#isEnding && ((!this.isRestarting && !this.isValidated) || this.#stopping)
  }

  /** The program has ended and may be restarted at once, at another port. */
  get isValidated(): boolean {
    return this.#validated !== null
  }

  /** Waits until the exit code of a process that has just ended is known, and whether it is restarted at once. */
  async settled(): Promise<void> {
    if (this.isAlive) return
    const verdict = this.#exit.then(() => this.#validated)
    await Promise.race([verdict, pause(exitMs, undefined, { ref: false })])
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
    const launched = readIdentity(this.#note)
    if (launched && !this.isAlive && isAlive(launched)) {
      this.record.process = launched
      this.#records.saveEventually(this.record)
    }
    this.#watching ??= this.#watch()
  }

  async start(request: StartRequest, program: Program): Promise<void> {
    this.#request = request
    if (request.restart) this.#policy = { name: 'always' }
    this.#program = program
    this.#stopping = false
    const { cpuCores, memoryMb } = request.allotment
    this.#group = createControlGroup(request.instanceId, { cpuCores, memoryMb, processes })
    this.#records.save(this.record)
    this.#disk?.checkAgain()
    await this.#spawn()
    this.#watching ??= this.#watch()
  }

  /** Sets the restart policy. It has no effect on a process of an earlier control plane, whose variables are unknown. */
  setRestart(policy: RestartPolicy): void {
    this.#policy = policy
  }

  async #spawn(): Promise<void> {
    const known = this.#program as Program
    const port = this.#request?.port === null ? null : await this.#ports.next()
    const { env, shown } = (this.#hasTakenPort && known.onTakenPort) || known
    const launched = this.#sandbox.launch({
      ...known,
      shown,
      env: { ...env, ...(port === null ? {} : { PORT: String(port) }) },
      groupFolders: this.#group?.folders ?? [],
      note: this.#note,
      stopsWithControlPlane: false,
    })
    rmSync(this.#note, { force: true })
    this.#programPorts.begin()
    this.#memoryKills = this.#group?.memoryKills ?? 0
    this.#endedAt = null
    const { instanceId } = this.record
    const file = (stream: 'stdout' | 'stderr') => this.#records.outputFile(instanceId, stream)
    const child = await startDetached(launched, { stdout: file('stdout'), stderr: file('stderr') }).catch((error: Error) => {
      throw new StartFailed(`It could not be started: ${error.message}`)
    })
    this.#begin(child, port)
  }

  #begin(child: ChildProcess, port: number | null): void {
    this.#child = child
    this.#exit = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.record.exitCode = exitCodeOf(code, signal)
        this.#endedAt = new Date().toISOString()
        if (port !== null && !this.#stopping) this.#validate()
        resolve()
      })
    })
    child.unref()
    Object.assign(this.record, {
      process: identityOf(child.pid as number),
      isInside: this.#sandbox.hasOwnProcesses,
      shown: this.#program?.shown ?? [],
      diskMb: this.#request?.allotment.diskMb,
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
  #validate(): void {
    const verdict = this.#restartOnOtherPort()
      .catch(() => undefined)
      .finally(() => {
        if (this.#validated === verdict) this.#validated = null
      })
    this.#validated = verdict
  }

  /** Restarts a program once that ended because its port was in use, so that it listens on PORT if it can. */
  async #restartOnOtherPort(): Promise<void> {
    this.record.portTaken = await this.#programPorts.taken()
    if (this.record.portTaken === null || this.#hasTakenPort || !this.#program?.onTakenPort) return
    await this.#endLeft()
    if (this.#stopping) return
    this.#hasTakenPort = true
    await this.#spawnAgain()
  }

  async #watch(): Promise<void> {
    if (!this.#child) await pause(takeUpMs, undefined, { ref: false })
    while (!this.#stopping) {
      await this.#untilEnded()
      await this.#validated
      if (this.#stopping) break
      if (this.isAlive) continue
      await this.#endLeft()
      this.#noteEnd()
      const { exitCode, restarts, diskFull } = this.record
      const willRestart = isRestarted(this.#policy, exitCode, restarts) && this.#program !== null && !diskFull
      if (!willRestart) {
        this.#notify('exited', this.#message(), this)
        break
      }
      await this.#restart()
    }
    this.#watching = null
  }

  /** Saves the end before it is reported, if the disk has space: a control plane that is killed in between finds it. */
  #noteEnd(): void {
    const { record } = this
    record.outOfMemory = (this.#group?.memoryKills ?? 0) > this.#memoryKills
    const { exitCode, outOfMemory, diskFull = false } = record
    const reason = endReason(exitCode, { outOfMemory, diskFull })
    record.lastEnd = { at: this.#endedAt ?? new Date().toISOString(), exitCode, reason }
    this.#records.saveEventually(record)
  }

  async #untilEnded(): Promise<void> {
    while (!this.#child && this.isAlive && !this.#stopping) await pause(pollIntervalMs, undefined, { ref: false })
    await this.#exit
  }

  get diskLookedAt(): number {
    return this.#disk?.lookedAt ?? 0
  }

  /** Cheap check, with the disk's free space, whether a measurement is due. */
  needsDiskCheck(room: Room): boolean {
    if (this.#checking || !this.isAlive) return false
    this.#disk ??= this.#measureDisk()
    return this.#disk?.isDue(room) ?? false
  }

  async suspectOfFilling(room: Room): Promise<Suspicion> {
    return (await this.#disk?.suspect(room, this.#group?.pids())) ?? 'none'
  }

  checkDisk(): Promise<void> {
    this.#checking ??= this.#checkDisk().finally(() => {
      this.#checking = null
    })
    return this.#checking
  }

  #measureDisk(): DiskMeasurement | null {
    const { shown = [], diskMb, builtBytes } = this.record
    const [app, ...written] = shown.filter(({ readOnly }) => !readOnly).map(({ path }) => path)
    return app && diskMb ? new DiskMeasurement({ grows: app, before: builtBytes, written, limitMb: diskMb }) : null
  }

  /** Measures the disk usage, which control groups do not limit. Kills an instance over its limit; it stays ended until it is started. */
  async #checkDisk(): Promise<void> {
    const { process: identity } = this.record
    if (!this.#disk || !identity) return
    const isOver = await this.#disk.isOver(this.#group?.pids()).catch(() => false)
    if (!isOver || this.#stopping || !isAlive(identity)) return
    this.record.diskFull = true
    signalGroup(identity, 'SIGKILL')
    this.#group?.kill()
  }

  async #restart(): Promise<void> {
    const upFor = Date.now() - Date.parse(this.record.startedAt ?? '')
    if (upFor > settledMs) this.record.restarts = 0
    this.record.restarts += 1
    this.isRestarting = true
    this.#notify(this.record.restarts === restartsOfALoop ? 'crash_loop' : 'restarted', this.#message(), this)
    await pause(Math.min(maxPauseMs, 500 * 2 ** Math.min(this.record.restarts, 10)), undefined, { ref: false })
    this.isRestarting = false
    if (!this.#stopping) await this.#spawnAgain()
  }

  async #spawnAgain(): Promise<void> {
    const text = await this.#spawn().then(
      () => null,
      (error: unknown) => (error as Error).message,
    )
    // A stop during the start has not seen this process.
    if (this.#stopping && this.record.process) signalGroup(this.record.process, 'SIGKILL')
    else if (text === null) this.#notify('moved', 'it runs again, at another address', this)
    else this.#notify('exited', text, this)
  }

  #message(): string {
    if (this.record.diskFull) return `it was stopped because it exceeded its disk limit of ${this.record.diskMb} MB`
    if (this.record.outOfMemory) return 'it was stopped because it exceeded its memory limit'
    if (this.record.portTaken) return `it exited because its port ${this.record.portTaken} is used by another program`
    return this.record.exitCode === null ? 'it ended' : `it ended with exit code ${this.record.exitCode}`
  }

  async stop(graceSeconds: number): Promise<void> {
    this.#stopping = true
    await this.#validated
    const { process: identity } = this.record
    if (identity) {
      this.#isEnding = true
      const members = () => this.#group?.pids()
      await sendTerminate(identity, {
        isInside: this.record.isInside === true,
        members,
        deadline: Date.now() + graceSeconds * 1000,
      })
      signalGroup(identity, 'SIGKILL')
      for (let round = 0; round < 100 && isAlive(identity); round++) await pause(20)
    }
    await this.#endLeft()
    this.#isEnding = false
    this.#group ??= createControlGroup(this.record.instanceId, { cpuCores: 4, memoryMb: 65_536, processes })
    this.#group?.kill()
    this.#group?.remove()
  }

  /** Kills all processes that the ended program left. */
  async #endLeft(): Promise<void> {
    if (this.record.process) endLeftInGroup(this.record.process)
    if (!this.record.isInside) await this.#killLeftovers(this.record.instanceId)
  }
}
