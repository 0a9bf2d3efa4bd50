import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Mutex } from '../../../../platform/keyed-mutex.ts'
import { callEngine, type Engine, isRemote } from '../engine.ts'
import { callBuildKit } from './grpc.ts'
import { bytesField, bytesIn, fieldsOf, numberField, numberIn, textIn } from './protobuf.ts'

const gigabyte = 1024 ** 3
const defaultMaxBytes = 10 * gigabyte
const defaultDiskShare = 0.2
/** Age after which an unused record is removed, even if there is space. */
const maxUnusedMs = 30 * 24 * 60 * 60_000
/** Rounds of pruning: a record that others are based on can only be removed after them. */
const pruneRounds = 5
const idsPerRequest = 200

export interface CacheRecord {
  id: string
  /** An image uses the same bytes. Removing the record does not free them. */
  isShared: boolean
  /** A copy of a project's files, useless for later builds. */
  isSource: boolean
  bytes: number
  createdAt: number
  usedAt: number
}

/** The projects of each record, and the running builds with the records that existed before them. */
interface Ledger {
  records: Record<string, string[]>
  builds: { projectId: string; since: number; expiresAt: number; before: string[] }[]
}

/**
 * The part of BuildKit's cache that builds of this Berth created. An engine has a single cache for all its users and cannot
 * label records. Each build therefore lists the records that appeared while it ran. Only those are counted and removed.
 * A record that appeared during several builds belongs to all of their projects. Removing a record is always safe: the next
 * build creates it again.
 */
export class BuildCache {
  readonly #engine: Engine
  readonly #file: string
  readonly #maxBytes: number | null
  #ledger: Ledger | undefined
  readonly #mutex = new Mutex()

  /** `maxBytes` null: 10 GB, or a fifth of the disk if that is less. */
  constructor(engine: Engine, file: string, maxBytes: number | null = null) {
    this.#engine = engine
    this.#file = file
    this.#maxBytes = maxBytes
  }

  /** Runs a BuildKit build and records which cache records it creates. */
  async trackBuild<T>(projectId: string, timeoutMs: number, build: () => Promise<T>): Promise<T> {
    const since = Date.now()
    const trackedBuild = await this.#mutex
      .run(async () => {
        await this.#assignInterruptedBuilds()
        const before = (await this.#records()).map(({ id }) => id)
        const row = { projectId, since, expiresAt: since + timeoutMs, before }
        this.#read().builds.push(row)
        this.#runningBuilds.add(row)
        this.#save()
        return row
      })
      .catch(() => null)
    try {
      return await build()
    } finally {
      if (trackedBuild) await this.#mutex.run(() => this.#finishBuild(trackedBuild)).catch(() => undefined)
    }
  }

  readonly #runningBuilds = new Set<Ledger['builds'][number]>()

  async #finishBuild(row: Ledger['builds'][number]): Promise<void> {
    const ledger = this.#read()
    this.#runningBuilds.delete(row)
    ledger.builds = ledger.builds.filter((one) => one !== row)
    this.#assignNewRecords(row, await this.#records())
    this.#save()
    await this.#trim()
  }

  /** Assigns the records of builds during which the control plane was killed. */
  async #assignInterruptedBuilds(): Promise<void> {
    const ledger = this.#read()
    const interrupted = ledger.builds.filter((row) => !this.#runningBuilds.has(row))
    if (interrupted.length === 0) return
    const records = await this.#records()
    for (const row of interrupted)
      this.#assignNewRecords(
        row,
        records.filter(({ createdAt }) => createdAt >= row.since && createdAt <= row.expiresAt),
      )
    ledger.builds = ledger.builds.filter((row) => this.#runningBuilds.has(row))
    this.#save()
  }

  #assignNewRecords({ projectId, before }: Ledger['builds'][number], records: readonly CacheRecord[]): void {
    const idsBefore = new Set(before)
    const { records: owners } = this.#read()
    for (const { id } of records)
      if (!idsBefore.has(id)) owners[id] = [...new Set([...(Object.hasOwn(owners, id) ? (owners[id] ?? []) : []), projectId])]
  }

  /** Removes the records of a project's builds. */
  remove(projectId: string): Promise<void> {
    return this.#mutex.run(async () => {
      await this.#assignInterruptedBuilds()
      const ofProject = this.#recordsOfBerth(await this.#records(), (owners) => owners.includes(projectId))
      await this.#prune(ofProject.map(({ id }) => id))
    })
  }

  /** Removes the least recently used records above the limit, and records unused for 30 days. */
  trim(): Promise<void> {
    return this.#mutex.run(async () => {
      await this.#assignInterruptedBuilds()
      await this.#trim()
    })
  }

  /** Removes all records that no running build uses. */
  clear(): Promise<void> {
    return this.#mutex.run(async () => {
      await this.#assignInterruptedBuilds()
      await this.#prune(this.#recordsOfBerth(await this.#records()).map(({ id }) => id))
    })
  }

  /** Bytes of this Berth's records that no image shares, and their limit. */
  async usage(): Promise<{ bytes: number; maxBytes: number; byProject: Map<string, number> }> {
    return this.#mutex.run(async () => {
      const byProject = new Map<string, number>()
      let bytes = 0
      const { records: owners } = this.#read()
      for (const record of this.#recordsOfBerth(await this.#records())) {
        if (record.isShared) continue
        bytes += record.bytes
        for (const projectId of owners[record.id] ?? []) byProject.set(projectId, (byProject.get(projectId) ?? 0) + record.bytes)
      }
      return { bytes, maxBytes: await this.#readLimit(), byProject }
    })
  }

  async #trim(): Promise<void> {
    const records = this.#recordsOfBerth(await this.#records())
    const limitBytes = await this.#readLimit()
    let bytes = records.reduce((sum, record) => sum + (record.isShared ? 0 : record.bytes), 0)
    const idsToRemove: string[] = []
    for (const record of records.sort((one, other) => one.usedAt - other.usedAt)) {
      const isRemovableSource = record.isSource && this.#runningBuilds.size === 0
      if (!isRemovableSource && bytes <= limitBytes && record.usedAt > Date.now() - maxUnusedMs) continue
      idsToRemove.push(record.id)
      if (!record.isShared) bytes -= record.bytes
    }
    await this.#prune(idsToRemove)
  }

  async #readLimit(): Promise<number> {
    if (this.#maxBytes !== null) return this.#maxBytes
    if (isRemote(this.#engine)) return defaultMaxBytes
    const { DockerRootDir = '/' } = (await callEngine(() => this.#engine.info())) as { DockerRootDir?: string }
    const disk = await statfs(DockerRootDir).catch(() => null)
    return disk ? Math.min(defaultMaxBytes, Math.floor(disk.blocks * disk.bsize * defaultDiskShare)) : defaultMaxBytes
  }

  #recordsOfBerth(records: readonly CacheRecord[], matches: (owners: readonly string[]) => boolean = () => true): CacheRecord[] {
    const { records: owners } = this.#read()
    return records.filter(({ id }) => Object.hasOwn(owners, id) && matches(owners[id] ?? []))
  }

  async #prune(ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += idsPerRequest) {
      const batch = ids.slice(at, at + idsPerRequest).filter((id) => /^[a-z0-9]+$/.test(id))
      const filter = `id~=/^(${batch.join('|')})$/`
      const request = Buffer.concat([bytesField(1, filter), numberField(2, 1)])
      for (let round = 0; round < pruneRounds; round += 1) {
        const removed = await callBuildKit(this.#engine, '/moby.buildkit.v1.Control/Prune', request)
        if (removed.length === 0) break
      }
    }
    if (ids.length > 0) await this.#removeStaleEntries()
  }

  /** Removes ledger entries of records that the engine no longer has. */
  async #removeStaleEntries(): Promise<void> {
    const existingIds = new Set((await this.#records()).map(({ id }) => id))
    const ledger = this.#read()
    ledger.records = Object.fromEntries(Object.entries(ledger.records).filter(([id]) => existingIds.has(id)))
    this.#save()
  }

  async #records(): Promise<CacheRecord[]> {
    const messages = await callBuildKit(this.#engine, '/moby.buildkit.v1.Control/DiskUsage', Buffer.alloc(0))
    return messages.flatMap((message) =>
      fieldsOf(message).flatMap(({ field, bytes }) => (field === 1 ? [parseRecord(bytes)] : [])),
    )
  }

  #read(): Ledger {
    this.#ledger ??= readLedger(this.#file)
    return this.#ledger
  }

  #save(): void {
    const draft = `${this.#file}.new`
    mkdirSync(dirname(this.#file), { recursive: true })
    writeFileSync(draft, JSON.stringify(this.#read()), { mode: 0o600 })
    renameSync(draft, this.#file)
  }
}

function readLedger(file: string): Ledger {
  try {
    const { records, builds } = JSON.parse(readFileSync(file, 'utf8')) as Ledger
    return { records: records ?? {}, builds: builds ?? [] }
  } catch {
    // The file does not exist yet, or was truncated by a full disk. Records that are not in the ledger are never touched.
    return { records: {}, builds: [] }
  }
}

/** Fields of BuildKit's UsageRecord. */
function parseRecord(message: Buffer): CacheRecord {
  const createdAt = parseTimestampMs(bytesIn(message, 6))
  return {
    id: textIn(message, 1),
    bytes: sizeOrZero(numberIn(message, 4)),
    createdAt,
    usedAt: parseTimestampMs(bytesIn(message, 7)) || createdAt,
    isSource: textIn(message, 10) === 'source.local',
    isShared: numberIn(message, 11) === 1,
  }
}

/** BuildKit reports -1 for a size that it has not measured yet. */
const sizeOrZero = (bytes: number) => (bytes > Number.MAX_SAFE_INTEGER ? 0 : bytes)

const parseTimestampMs = (message: Buffer) => numberIn(message, 1) * 1000 + Math.floor(numberIn(message, 2) / 1e6)
