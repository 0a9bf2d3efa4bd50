import type { ListeningSockets } from '../../../../platform/listener/listening-sockets.ts'
import { pauseEnd } from '../../../../platform/pause-end.ts'
import { lengthOf, writtenSince } from '../processes/detached.ts'
import type { InstanceRecord, InstanceRecords } from '../processes/instance-record.ts'
import { isAlive } from '../processes/process-table.ts'
import { PortFinder } from './own-port.ts'
import { readTakenPorts, takenPortIn } from './taken-port.ts'

const streams = ['stdout', 'stderr'] as const
/** Largest share of the time spent on searching the processes of one instance: after a slow search the next one waits longer. */
const checkShare = 0.1

/** Ports of one instance: the port that its program listens on, and the port that the program could not bind. */
export class ProgramPorts {
  readonly #record: InstanceRecord
  readonly #records: InstanceRecords
  readonly #finder: PortFinder
  /** Lengths of the output files when the program was started. */
  readonly #lengthsAtStart = { stdout: 0, stderr: 0 }
  /** Addresses that the program's processes listen on, as of the last search. */
  listensOn: readonly string[] = []
  #runningCheck: Promise<void> | null = null
  #nextCheckAt = 0

  constructor(record: InstanceRecord, records: InstanceRecords, otherPortMs: number) {
    this.#record = record
    this.#records = records
    this.#finder = new PortFinder(otherPortMs)
  }

  /** Starts over for another run of the program. */
  reset(): void {
    for (const stream of streams) this.#lengthsAtStart[stream] = lengthOf(this.#file(stream))
    this.listensOn = []
    this.#finder.reset()
    this.#nextCheckAt = 0
  }

  /** Finds the port that its processes listen on. Once that is PORT, there is no further search. */
  check(sockets: ListeningSockets): Promise<void> {
    const { port, listensAt } = this.#record
    if (port === null || listensAt === port || performance.now() < this.#nextCheckAt)
      return this.#runningCheck ?? Promise.resolve()
    this.#runningCheck ??= this.#checkNow(sockets).finally(() => {
      this.#runningCheck = null
    })
    return this.#runningCheck
  }

  async #checkNow(sockets: ListeningSockets): Promise<void> {
    const { process: identity, port, hintedPort = null } = this.#record
    if (port === null || !identity) return
    const startedAt = performance.now()
    const {
      port: foundPort,
      listensOn,
      sharedPort,
    } = await this.#finder.check({ process: identity, assigned: port, hinted: hintedPort }, sockets)
    this.#nextCheckAt = pauseEnd(startedAt, checkShare)
    // The program has ended meanwhile, or another run has begun.
    if (this.#record.process !== identity || !isAlive(identity)) return
    this.listensOn = listensOn
    // A shared port counts as taken: the kernel may give its connections to the other program.
    this.#record.portTaken = sharedPort
    if (foundPort === null || foundPort === this.#record.listensAt) return
    this.#record.listensAt = foundPort
    this.#records.saveEventually(this.#record)
  }

  /** Port that an ended program could not bind. Null if it ended for another reason. */
  async findTakenPort(): Promise<number | null> {
    const { exitCode, hintedPort = null, listensAt } = this.#record
    const output = streams.map((stream) => writtenSince(this.#file(stream), this.#lengthsAtStart[stream])).join('\n')
    const takenPorts = await readTakenPorts()
    const port = takenPortIn(output, hintedPort, (candidate) => takenPorts.has(candidate))
    if (port !== null) return port
    // Some programs ignore the error and exit because they have nothing to do.
    const isSilent = exitCode === 0 && listensAt === undefined
    return isSilent && hintedPort && takenPorts.has(hintedPort) ? hintedPort : null
  }

  #file = (stream: (typeof streams)[number]) => this.#records.outputFile(this.#record.instanceId, stream)
}
