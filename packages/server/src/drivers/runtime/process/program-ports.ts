import type { ListeningSockets } from '../../../platform/listener/listening-sockets.ts'
import { lengthOf, writtenSince } from './detached.ts'
import type { InstanceRecord, InstanceRecords } from './instance-record.ts'
import { OwnPort } from './own-port.ts'
import { somebodyListens, takenPortIn } from './taken-port.ts'

const streams = ['stdout', 'stderr'] as const

/** What one instance does about ports: where it listens, and which one it wanted and did not get. */
export class ProgramPorts {
  readonly #record: InstanceRecord
  readonly #records: InstanceRecords
  readonly #own: OwnPort
  /** How long its output was when it was started. */
  readonly #before = { stdout: 0, stderr: 0 }
  /** Everything that its own processes listen on, as far as that was looked for. */
  listensOn: readonly string[] = []

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
  }

  /** Where it listens, by what the kernel says of its own processes; once that is PORT, nothing is asked any more. */
  look(sockets: ListeningSockets): void {
    const { process: identity, port, listensAt, hintedPort = null } = this.#record
    if (port === null || !identity || listensAt === port) return
    const { at, listensOn, shared } = this.#own.look(
      { process: identity, given: port, hinted: hintedPort },
      performance.now(),
      sockets,
    )
    this.listensOn = listensOn
    this.#record.portTaken = shared
    if (at === null || at === listensAt) return
    this.#record.listensAt = at
    this.#records.save(this.#record)
  }

  /** After it has ended: the port that it did not get; null when it ended for another reason. */
  taken(): number | null {
    const { exitCode, hintedPort = null, listensAt } = this.#record
    const said = streams.map((stream) => writtenSince(this.#file(stream), this.#before[stream])).join('\n')
    const isTaken = somebodyListens()
    const port = takenPortIn(said, hintedPort, isTaken)
    if (port !== null) return port
    // Some say nothing and have nothing left to do.
    const isSilent = exitCode === 0 && listensAt === undefined
    return isSilent && hintedPort && isTaken(hintedPort) ? hintedPort : null
  }

  #file = (stream: (typeof streams)[number]) => this.#records.outputFile(this.#record.instanceId, stream)
}
