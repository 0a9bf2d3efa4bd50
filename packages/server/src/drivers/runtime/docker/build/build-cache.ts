import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Mutex } from '../../../../platform/keyed-mutex.ts'
import { callEngine, type Engine, isRemote } from '../engine.ts'
import { callBuildKit } from './grpc.ts'
import { bytesField, bytesIn, fieldsOf, numberField, numberIn, textIn } from './protobuf.ts'

const gigabyte = 1024 ** 3
const usualBytes = 10 * gigabyte
const usualShare = 0.2
/** Age after which an unused record is removed, even if there is space. */
const unusedMs = 30 * 24 * 60 * 60_000
/** Rounds of pruning: a record that others are based on can only be removed after them. */
const pruneRounds = 5
const idsAtOnce = 200

export interface CacheRecord {
  id: string
  /** An image uses the same bytes, so they stay while the image does. */
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
 * label records. Each build therefore notes the records that appeared while it ran, and only those are counted and removed.
 * A record that appeared during several builds belongs to all of their projects. Removing too much is safe: a cache can be
 * rebuilt.
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

  /** Runs a BuildKit build and notes the cache records that it creates. */
  async during<T>(projectId: string, timeoutMs: number, build: () => Promise<T>): Promise<T> {
    const since = Date.now()
    const begun = await this.#mutex
      .run(async () => {
        await this.#settleLost()
        const before = (await this.#records()).map(({ id }) => id)
        const row = { projectId, since, expiresAt: since + timeoutMs, before }
        this.#read().builds.push(row)
        this.#running.add(row)
        this.#save()
        return row
      })
      .catch(() => null)
    try {
      return await build()
    } finally {
      if (begun) await this.#mutex.run(() => this.#end(begun)).catch(() => undefined)
    }
  }

  readonly #running = new Set<Ledger['builds'][number]>()

  async #end(row: Ledger['builds'][number]): Promise<void> {
    const ledger = this.#read()
    this.#running.delete(row)
    ledger.builds = ledger.builds.filter((one) => one !== row)
    this.#note(row, await this.#records())
    this.#save()
    await this.#trim()
  }

  /** Assigns the records of builds during which the control plane was killed. */
  async #settleLost(): Promise<void> {
    const ledger = this.#read()
    const lost = ledger.builds.filter((row) => !this.#running.has(row))
    if (lost.length === 0) return
    const records = await this.#records()
    for (const row of lost)
      this.#note(
        row,
        records.filter(({ createdAt }) => createdAt >= row.since && createdAt <= row.expiresAt),
      )
    ledger.builds = ledger.builds.filter((row) => this.#running.has(row))
    this.#save()
  }

  #note({ projectId, before }: Ledger['builds'][number], records: readonly CacheRecord[]): void {
    const known = new Set(before)
    const { records: owners } = this.#read()
    for (const { id } of records)
      if (!known.has(id)) owners[id] = [...new Set([...(Object.hasOwn(owners, id) ? (owners[id] ?? []) : []), projectId])]
  }

  /** Removes the records of a project's builds. */
  remove(projectId: string): Promise<void> {
    return this.#mutex.run(async () => {
      await this.#settleLost()
      const own = this.#owned(await this.#records(), (owners) => owners.includes(projectId))
      await this.#prune(own.map(({ id }) => id))
    })
  }

  /** Removes the least recently used records above the limit, and records unused for 30 days. */
  trim(): Promise<void> {
    return this.#mutex.run(async () => {
      await this.#settleLost()
      await this.#trim()
    })
  }

  /** Removes all records that no running build uses. */
  clear(): Promise<void> {
    return this.#mutex.run(async () => {
      await this.#settleLost()
      await this.#prune(this.#owned(await this.#records()).map(({ id }) => id))
    })
  }

  /** Bytes of this Berth's records that no image shares, and their limit. */
  async use(): Promise<{ bytes: number; maxBytes: number; byProject: Map<string, number> }> {
    return this.#mutex.run(async () => {
      const byProject = new Map<string, number>()
      let bytes = 0
      const { records: owners } = this.#read()
      for (const record of this.#owned(await this.#records())) {
        if (record.isShared) continue
        bytes += record.bytes
        for (const projectId of owners[record.id] ?? []) byProject.set(projectId, (byProject.get(projectId) ?? 0) + record.bytes)
      }
      return { bytes, maxBytes: await this.#bound(), byProject }
    })
  }

  async #trim(): Promise<void> {
    const records = this.#owned(await this.#records())
    const bound = await this.#bound()
    let bytes = records.reduce((sum, record) => sum + (record.isShared ? 0 : record.bytes), 0)
    const going: string[] = []
    for (const record of records.sort((one, other) => one.usedAt - other.usedAt)) {
      const isSource = record.isSource && this.#running.size === 0
      if (!isSource && bytes <= bound && record.usedAt > Date.now() - unusedMs) continue
      going.push(record.id)
      if (!record.isShared) bytes -= record.bytes
    }
    await this.#prune(going)
  }

  async #bound(): Promise<number> {
    if (this.#maxBytes !== null) return this.#maxBytes
    if (isRemote(this.#engine)) return usualBytes
    const { DockerRootDir = '/' } = (await callEngine(() => this.#engine.info())) as { DockerRootDir?: string }
    const disk = await statfs(DockerRootDir).catch(() => null)
    return disk ? Math.min(usualBytes, Math.floor(disk.blocks * disk.bsize * usualShare)) : usualBytes
  }

  #owned(records: readonly CacheRecord[], isWanted: (owners: readonly string[]) => boolean = () => true): CacheRecord[] {
    const { records: owners } = this.#read()
    return records.filter(({ id }) => Object.hasOwn(owners, id) && isWanted(owners[id] ?? []))
  }

  async #prune(ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += idsAtOnce) {
      const wanted = ids.slice(at, at + idsAtOnce).filter((id) => /^[a-z0-9]+$/.test(id))
      const filter = `id~=/^(${wanted.join('|')})$/`
      const request = Buffer.concat([bytesField(1, filter), numberField(2, 1)])
      for (let round = 0; round < pruneRounds; round += 1) {
        const gone = await callBuildKit(this.#engine, '/moby.buildkit.v1.Control/Prune', request)
        if (gone.length === 0) break
      }
    }
    if (ids.length > 0) await this.#forgetGone()
  }

  /** Removes ledger entries of records that the engine no longer has. */
  async #forgetGone(): Promise<void> {
    const there = new Set((await this.#records()).map(({ id }) => id))
    const ledger = this.#read()
    ledger.records = Object.fromEntries(Object.entries(ledger.records).filter(([id]) => there.has(id)))
    this.#save()
  }

  async #records(): Promise<CacheRecord[]> {
    const answers = await callBuildKit(this.#engine, '/moby.buildkit.v1.Control/DiskUsage', Buffer.alloc(0))
    return answers.flatMap((answer) => fieldsOf(answer).flatMap(({ field, bytes }) => (field === 1 ? [recordIn(bytes)] : [])))
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
function recordIn(message: Buffer): CacheRecord {
  const createdAt = timeIn(bytesIn(message, 6))
  return {
    id: textIn(message, 1),
    bytes: knownSize(numberIn(message, 4)),
    createdAt,
    usedAt: timeIn(bytesIn(message, 7)) || createdAt,
    isSource: textIn(message, 10) === 'source.local',
    isShared: numberIn(message, 11) === 1,
  }
}

/** BuildKit reports -1 for a size that it has not measured yet. */
const knownSize = (bytes: number) => (bytes > Number.MAX_SAFE_INTEGER ? 0 : bytes)

const timeIn = (message: Buffer) => numberIn(message, 1) * 1000 + Math.floor(numberIn(message, 2) / 1e6)
