import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { InstanceEnd } from '../../instance-end.ts'
import type { Owner } from '../../runtime.ts'
import type { Places } from '../files/places.ts'
import { throwAway } from '../files/remove-tree.ts'
import type { Shown } from '../sandbox/bubblewrap.ts'
import type { ProcessIdentity } from './process-table.ts'

/** What is kept on disk of an instance, so that the next control plane finds it. No variable of the project is in it. */
export interface InstanceRecord {
  instanceId: string
  owner: Owner
  service: string
  /** What PORT says. */
  port: number | null
  /** Where its source says that it listens. */
  hintedPort?: number | null | undefined
  /** Where it was seen to listen. */
  listensAt?: number | undefined
  /** The port that it wants and somebody else has. */
  portTaken?: number | null
  process: ProcessIdentity | null
  /** It runs in a namespace of its own; `process` is its keeper. */
  isInside?: boolean
  /** The project's folders that it sees. */
  shown?: readonly Shown[]
  startedAt: string | null
  restarts: number
  exitCode: number | null
  outOfMemory: boolean
  /** Its last end by itself. */
  lastEnd?: InstanceEnd
  /** It was ended because it kept more on the disk than it may. */
  diskFull?: boolean
  /** How much that is. */
  diskMb?: number
  builtBytes?: number | undefined
  /** Bytes of output that were read and cut off the front of each file. */
  cutOff: { stdout: number; stderr: number }
}

const retryMs = 1_000

export class InstanceRecords {
  readonly #places: Places
  /** Records whose file is older than they are, by instance. */
  readonly #unsaved = new Map<string, InstanceRecord>()
  #retrying: NodeJS.Timeout | null = null

  constructor(places: Places) {
    this.#places = places
  }

  outputFile = (id: string, stream: 'stdout' | 'stderr') => join(this.#places.instance(id), `${stream}.log`)

  save(record: InstanceRecord): void {
    const folder = this.#places.instance(record.instanceId)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const draft = join(folder, `record.json.${process.pid}`)
    writeFileSync(draft, JSON.stringify(record))
    renameSync(draft, join(folder, 'record.json'))
    this.#unsaved.delete(record.instanceId)
  }

  /**
   * Saves a fact that has happened already. The record in memory counts, so a write that fails (a full disk) is repeated until it
   * succeeds: it must end neither the supervision of the instance nor the control plane.
   */
  saveEventually(record: InstanceRecord): void {
    try {
      this.save(record)
    } catch {
      this.#unsaved.set(record.instanceId, record)
      this.#retrying ??= setTimeout(() => this.#retry(), retryMs).unref()
    }
  }

  #retry(): void {
    this.#retrying = null
    for (const record of [...this.#unsaved.values()]) this.saveEventually(record)
  }

  find(id: string): InstanceRecord | undefined {
    const file = join(this.#places.instance(id), 'record.json')
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as InstanceRecord) : undefined
  }

  list(): InstanceRecord[] {
    return this.#places.list('instances').flatMap((id) => this.find(id) ?? [])
  }

  /** Gone at once; what is in it goes with the trash. */
  remove(id: string): void {
    this.#unsaved.delete(id)
    throwAway(this.#places.instance(id), this.#places.of('trash'))
  }
}
