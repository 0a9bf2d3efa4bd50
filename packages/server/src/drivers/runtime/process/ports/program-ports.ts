import type { ListeningSockets } from '../../../../platform/listener/listening-sockets.ts'
import { restsUntil } from '../../../../platform/rests-until.ts'
import { lengthOf, writtenSince } from '../processes/detached.ts'
import type { InstanceRecord, InstanceRecords } from '../processes/instance-record.ts'
import { isAlive } from '../processes/process-table.ts'
import { OwnPort } from './own-port.ts'
import { takenPortIn, takenPorts } from './taken-port.ts'

const streams = ['stdout', 'stderr'] as const
/** Share of the time spent on searching the processes of one instance: how long a search takes is up to the project. */
const lookShare = 0.1

/** What one instance does about ports: where it listens, and which one it wanted and did not get. */
export class ProgramPorts {
  readonly #record: InstanceRecord
  readonly #records: InstanceRecords
  readonly #own: OwnPort
  /** How long its output was when it was started. */
  readonly #before = { stdout: 0, stderr: 0 }
  /** Everything that its own processes listen on, as far as that was looked for. */
  listensOn: readonly string[] = []
  #looking: Promise<void> | null = null
  #restsUntil = 0

  constructor(record: InstanceRecord, records: InstanceRecords, otherPortMs: number) {
    this.#record = record
    this.#records = records
    this.#own = new OwnPort(otherPortMs)
  }

  /** Another run of it begins. */
  begin(): void {
    for (const stream of streams) this.#before[stream] = lengthOf(this.#file(stream))
    this.listensOn = []
    this.#own.reset()
    this.#restsUntil = 0
  }

  /** Where it listens, by what the kernel says of its own processes; once that is PORT, nothing is asked any more. */
  look(sockets: ListeningSockets): Promise<void> {
    const { port, listensAt } = this.#record
    if (port === null || listensAt === port || performance.now() < this.#restsUntil) return this.#looking ?? Promise.resolve()
    this.#looking ??= this.#lookNow(sockets).finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #lookNow(sockets: ListeningSockets): Promise<void> {
    const { process: identity, port, hintedPort = null } = this.#record
    if (port === null || !identity) return
    const began = performance.now()
    const { at, listensOn, shared } = await this.#own.look({ process: identity, given: port, hinted: hintedPort }, sockets)
    this.#restsUntil = restsUntil(began, lookShare)
    // The program has ended meanwhile, or another run has begun.
    if (this.#record.process !== identity || !isAlive(identity)) return
    this.listensOn = listensOn
    this.#record.portTaken = shared
    if (at === null || at === this.#record.listensAt) return
    this.#record.listensAt = at
    this.#records.saveEventually(this.#record)
  }

  /** After it has ended: the port that it did not get; null when it ended for another reason. */
  async taken(): Promise<number | null> {
    const { exitCode, hintedPort = null, listensAt } = this.#record
    const said = streams.map((stream) => writtenSince(this.#file(stream), this.#before[stream])).join('\n')
    const isTaken = await takenPorts()
    const port = takenPortIn(said, hintedPort, isTaken)
    if (port !== null) return port
    // Some say nothing and have nothing left to do.
    const isSilent = exitCode === 0 && listensAt === undefined
    return isSilent && hintedPort && isTaken(hintedPort) ? hintedPort : null
  }

  #file = (stream: (typeof streams)[number]) => this.#records.outputFile(this.#record.instanceId, stream)
}
