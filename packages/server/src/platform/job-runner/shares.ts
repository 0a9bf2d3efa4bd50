import type { Database } from '../database.ts'
import type { Job } from '../jobs/declare.ts'
import { hasSeveralOrganizations } from '../jobs/owners.ts'
import type { OwnerOrder } from './claim.ts'
import type { JobRow } from './lease.ts'

type SlotsOf = Pick<Job<unknown, never>, 'kind' | 'concurrency' | 'isShared'>
type OwnerOrders = Record<string, OwnerOrder>

/**
 * Divides the slots of each kind between organisations. If an instance has several, one of them never holds the last slot of a
 * kind; owners without a running job go first, and the others follow in round-robin order.
 */
export class Shares {
  readonly #jobs: readonly SlotsOf[]
  readonly #database: Pick<Database, 'db'>
  /** The owner that was served last, by kind. */
  readonly #lastServed = new Map<string, string>()

  constructor(jobs: Iterable<SlotsOf>, database: Pick<Database, 'db'>) {
    this.#jobs = [...jobs]
    this.#database = database
  }

  /** Kinds with a free slot. */
  freeKinds(running: readonly JobRow[]): string[] {
    return this.#free(running).map(({ job }) => job.kind)
  }

  /** The owners to search for the next job, in two steps: first those without a running job of a kind, then all with a free slot. */
  async claimOrders(kinds: ReadonlySet<string>, running: readonly JobRow[]): Promise<OwnerOrders[]> {
    const free = this.#free(running).filter(({ job }) => kinds.has(job.kind))
    const isReserved = await this.#isReserved(free)
    const [idle, others]: [OwnerOrders, OwnerOrders] = [{}, {}]
    for (const { job, owners } of free) {
      const after = this.#lastServed.get(job.kind) ?? ''
      const limit = isReserved && isDivided(job) ? job.concurrency - 1 : job.concurrency
      const full = [...owners].flatMap(([owner, count]) => (count >= limit ? [owner] : []))
      idle[job.kind] = { after, busy: [...owners.keys()] }
      if (full.length < owners.size) others[job.kind] = { after, busy: full }
    }
    return [idle, others].filter((orders) => Object.keys(orders).length > 0)
  }

  noteServed({ kind, ownerId }: JobRow): void {
    this.#lastServed.set(kind, ownerId)
  }

  #free(running: readonly JobRow[]): { job: SlotsOf; owners: Map<string, number> }[] {
    const byKind = Map.groupBy(running, ({ kind }) => kind)
    return this.#jobs.flatMap((job) => {
      const rows = byKind.get(job.kind) ?? []
      if (rows.length >= job.concurrency) return []
      const owners = new Map<string, number>()
      for (const { ownerId } of rows) owners.set(ownerId, (owners.get(ownerId) ?? 0) + 1)
      return [{ job, owners }]
    })
  }

  /** Checked only if an owner is about to take the last slot of a kind. A single organisation may use all slots. */
  async #isReserved(free: readonly { job: SlotsOf; owners: Map<string, number> }[]): Promise<boolean> {
    const isLastSlotNext = free.some(
      ({ job, owners }) => isDivided(job) && [...owners.values()].some((count) => count >= job.concurrency - 1),
    )
    return isLastSlotNext && (await hasSeveralOrganizations(this.#database.db))
  }
}

const isDivided = ({ isShared, concurrency }: SlotsOf): boolean => isShared && concurrency > 1
