import type { ListeningSockets } from '../../../../platform/listener/listening-sockets.ts'
import { pauseEnd } from '../../../../platform/pause-end.ts'
import { lengthOf, writtenSince } from '../processes/detached.ts'
import type { InstanceRecord, InstanceRecords } from '../processes/instance-record.ts'
import { isAlive } from '../processes/process-table.ts'
import { OwnPort } from './own-port.ts'
import { takenPortIn, takenPorts } from './taken-port.ts'

const streams = ['stdout', 'stderr'] as const
/** Share of the time spent on searching the processes of one instance: the project determines how long a search takes. */
const checkShare = 0.1

/** Ports of one instance: the one it listens on, and the one it wanted but could not bind. */
export class ProgramPorts {
  readonly #record: InstanceRecord
  readonly #records: InstanceRecords
  readonly #own: OwnPort
  /** Length of its output files when it was started. */
  readonly #before = { stdout: 0, stderr: 0 }
  /** Addresses that its processes listen on, as of the last search. */
  listensOn: readonly string[] = []
  #checking: Promise<void> | null = null
  #pauseEnd = 0

  constructor(record: InstanceRecord, records: InstanceRecords, otherPortMs: number) {
    this.#record = record
    this.#records = records
    this.#own = new OwnPort(otherPortMs)
  }

  /** Starts over for another run of the program. */
  begin(): void {
    for (const stream of streams) this.#before[stream] = lengthOf(this.#file(stream))
    this.listensOn = []
    this.#own.reset()
    this.#pauseEnd = 0
  }

  /** Finds the port that its processes listen on. Once that is PORT, there is no further search. */
  check(sockets: ListeningSockets): Promise<void> {
    const { port, listensAt } = this.#record
    if (port === null || listensAt === port || performance.now() < this.#pauseEnd) return this.#checking ?? Promise.resolve()
    this.#checking ??= this.#checkNow(sockets).finally(() => {
      this.#checking = null
    })
    return this.#checking
  }

  async #checkNow(sockets: ListeningSockets): Promise<void> {
    const { process: identity, port, hintedPort = null } = this.#record
    if (port === null || !identity) return
    const began = performance.now()
    const { at, listensOn, shared } = await this.#own.check({ process: identity, given: port, hinted: hintedPort }, sockets)
    this.#pauseEnd = pauseEnd(began, checkShare)
    // The program has ended meanwhile, or another run has begun.
    if (this.#record.process !== identity || !isAlive(identity)) return
    this.listensOn = listensOn
    this.#record.portTaken = shared
    if (at === null || at === this.#record.listensAt) return
    this.#record.listensAt = at
    this.#records.saveEventually(this.#record)
  }

  /** Port that an ended program could not bind. Null if it ended for another reason. */
  async taken(): Promise<number | null> {
    const { exitCode, hintedPort = null, listensAt } = this.#record
    const reported = streams.map((stream) => writtenSince(this.#file(stream), this.#before[stream])).join('\n')
    const isTaken = await takenPorts()
    const port = takenPortIn(reported, hintedPort, isTaken)
    if (port !== null) return port
    // Some programs ignore the error and exit because they have nothing to do.
    const isSilent = exitCode === 0 && listensAt === undefined
    return isSilent && hintedPort && isTaken(hintedPort) ? hintedPort : null
  }

  #file = (stream: (typeof streams)[number]) => this.#records.outputFile(this.#record.instanceId, stream)
}
