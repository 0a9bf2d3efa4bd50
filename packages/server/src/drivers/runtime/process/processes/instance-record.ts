import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { InstanceEnd } from '../../instance-end.ts'
import type { Owner } from '../../runtime.ts'
import type { Paths } from '../files/paths.ts'
import { discardTree } from '../files/remove-tree.ts'
import type { MountedFolder } from '../sandbox/bubblewrap.ts'
import type { ProcessIdentity } from './process-table.ts'

/** State of an instance on disk, for the next control plane. It holds no variables of the project. */
export interface InstanceRecord {
  instanceId: string
  owner: Owner
  service: string
  /** Value of PORT. */
  port: number | null
  /** Port that the project's source code names. */
  hintedPort?: number | null | undefined
  /** Port on which the program was found to listen. */
  listensAt?: number | undefined
  /** Port of the program that another process uses too: the program could not bind it, or both listen on it. */
  portTaken?: number | null
  process: ProcessIdentity | null
  /** Device and inode of the folder that the process was started from. The process is not that of a copy of the folder. */
  place?: string
  /** The instance is inside its own PID namespace. `process` is then bubblewrap's monitor outside of the namespace. */
  isInside?: boolean
  /** Folders of the project that are mounted into the sandbox. */
  shown?: readonly MountedFolder[]
  startedAt: string | null
  restarts: number
  exitCode: number | null
  outOfMemory: boolean
  /** The most recent end that the runtime did not request. */
  lastEnd?: InstanceEnd
  /** The runtime killed the instance because it exceeded its disk limit. */
  diskFull?: boolean
  /** The disk limit. */
  diskMb?: number
  builtBytes?: number | undefined
  /** Bytes that were read and then cut off the front of each output file. */
  cutOff: { stdout: number; stderr: number }
}

const retryMs = 1_000

export class InstanceRecords {
  readonly #paths: Paths
  /** Records that are newer than their file, by instance. */
  readonly #unsaved = new Map<string, InstanceRecord>()
  #retryTimer: NodeJS.Timeout | null = null

  constructor(paths: Paths) {
    this.#paths = paths
  }

  outputFile = (id: string, stream: 'stdout' | 'stderr') => join(this.#paths.instance(id), `${stream}.log`)

  save(record: InstanceRecord): void {
    const folder = this.#paths.instance(record.instanceId)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const draft = join(folder, `record.json.${process.pid}`)
    writeFileSync(draft, JSON.stringify(record))
    renameSync(draft, join(folder, 'record.json'))
    this.#unsaved.delete(record.instanceId)
  }

  /**
   * Saves a change that has already happened. The record in memory is authoritative. A write that fails (a full disk) is
   * repeated until it succeeds, and ends neither the supervision of the instance nor the control plane.
   */
  saveEventually(record: InstanceRecord): void {
    try {
      this.save(record)
    } catch {
      this.#unsaved.set(record.instanceId, record)
      this.#retryTimer ??= setTimeout(() => this.#retry(), retryMs).unref()
    }
  }

  #retry(): void {
    this.#retryTimer = null
    for (const record of [...this.#unsaved.values()]) this.saveEventually(record)
  }

  find(id: string): InstanceRecord | undefined {
    const file = join(this.#paths.instance(id), 'record.json')
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as InstanceRecord) : undefined
  }

  list(): InstanceRecord[] {
    return this.#paths.list('instances').flatMap((id) => {
      const record = this.find(id)
      return record ? [this.#withoutForeignProcess(record)] : []
    })
  }

  /** Device and inode of an instance's folder. They stay the same when the data folder is moved within its file system. */
  folderIdOf(id: string): string {
    const { dev, ino } = statSync(this.#paths.instance(id), { bigint: true })
    return `${dev}:${ino}`
  }

  /** A copied data folder names processes of the original, which may still run and write there. */
  #withoutForeignProcess(record: InstanceRecord): InstanceRecord {
    const { instanceId, place } = record
    if (place === undefined || place === this.folderIdOf(instanceId)) return record
    rmSync(this.#paths.instanceProcessFile(instanceId), { force: true })
    return { ...record, process: null }
  }

  /** Removes a record at once. Its files are deleted with the trash. */
  remove(id: string): void {
    this.#unsaved.delete(id)
    discardTree(this.#paths.instance(id), this.#paths.of('trash'))
  }
}
