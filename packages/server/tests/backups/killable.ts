import { AsyncLocalStorage } from 'node:async_hooks'
import type { ArchiveStore } from '../../src/drivers/archive-store/archive-store.ts'
import type { Parts } from '../../src/instance/assemble.ts'
import type { TestInstance } from '../kit/instance.ts'

/**
 * Control planes that can be killed between any two steps that are seen from outside: a call of the destination, a program in
 * a service, a transaction. Whatever a killed one waits for never comes, and nothing that it asks for later happens; its rows stay as
 * they were, leases and all.
 */
export class Killable {
  readonly #instance: TestInstance
  #current: Life | undefined
  readonly #lives: Life[] = []

  constructor(instance: TestInstance) {
    this.#instance = instance
    const { drivers } = instance
    const { wrap } = drivers.aroundStores
    drivers.aroundStores.wrap = (store) => this.#mortal(wrap(store))
    const inside = drivers.runtime.whileInside
    drivers.runtime.whileInside = (...given) => this.#step(this.#current, () => (this.inside ?? inside)(...given))
  }

  /** What a person asks for meanwhile is answered by a process that lives. */
  asPerson<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#isPerson.run(true, work)
  }

  readonly #isPerson = new AsyncLocalStorage<true>()
  inside: TestInstance['drivers']['runtime']['whileInside'] | undefined

  /** A new control plane, which takes up what is there. At that step it dies, or that is done while it waits; never, where none is given. */
  async start(at = Number.POSITIVE_INFINITY, instead?: () => Promise<void>): Promise<Life> {
    const life: Life = {
      steps: 0,
      at: Number.POSITIVE_INFINITY,
      instead,
      isDead: false,
      died: Promise.withResolvers(),
      plane: undefined as never,
    }
    const { database } = this.#instance
    const transaction: Parts['database']['transaction'] = (work) => this.#step(life, () => database.transaction(work))
    life.plane = this.#instance.another({ database: { ...database, transaction } })
    await this.#expireLeases()
    // What is dead claims nothing.
    await this.end()
    this.#lives.push(life)
    this.#current = life
    await life.plane.jobs.start()
    await life.plane.jobs.whenIdle()
    Object.assign(life, { steps: 0, at })
    return life
  }

  /** Until it has nothing to do, or is dead. */
  async idle(life: Life): Promise<'idle' | 'dead'> {
    return Promise.race([life.plane.jobs.whenIdle().then(() => 'idle' as const), life.died.promise.then(() => 'dead' as const)])
  }

  async end(): Promise<void> {
    for (const { plane } of this.#lives.splice(0)) await plane.jobs.stop({ graceMs: 0 })
  }

  /** A process that is gone renews no lease. On PostgreSQL the next one waits for that. */
  async #expireLeases(): Promise<void> {
    await this.#instance.database.db
      .updateTable('jobs')
      .set({ leaseToken: 'of a dead process', leaseUntil: 1 })
      .where('status', '=', 'running')
      .execute()
  }

  async #step<Result>(life: Life | undefined, work: () => Promise<Result>): Promise<Result> {
    if (!life) return work()
    await this.#mayDie(life)
    const result = await work()
    await this.#mayDie(life)
    return result
  }

  async #mayDie(life: Life): Promise<void> {
    const isNow = life.steps === life.at
    life.steps += 1
    if (isNow && life.instead) await life.instead()
    else if (isNow) {
      life.isDead = true
      life.died.resolve()
    }
    if (life.isDead) await new Promise(() => undefined)
  }

  #mortal(store: ArchiveStore): ArchiveStore {
    if (this.#isPerson.getStore()) return store
    const life = this.#current
    const step = <Result>(work: () => Promise<Result>) => this.#step(life, work)
    const mayDie = () => (life ? this.#mayDie(life) : Promise.resolve())
    return {
      check: (abort) => step(() => store.check(abort)),
      put: (name, content, abort) => step(() => store.put(name, content, abort)),
      async *get(name, abort, options) {
        await mayDie()
        yield* store.get(name, abort, options)
        await mayDie()
      },
      size: (name, abort) => step(() => store.size(name, abort)),
      async *list(prefix, abort) {
        await mayDie()
        yield* store.list(prefix, abort)
        await mayDie()
      },
      remove: (name, abort) => step(() => store.remove(name, abort)),
      removeUnfinished: (olderThan, abort) => step(() => store.removeUnfinished(olderThan, abort)),
      close: () => store.close(),
    }
  }
}

export interface Life {
  steps: number
  at: number
  instead: (() => Promise<void>) | undefined
  isDead: boolean
  died: PromiseWithResolvers<void>
  plane: ReturnType<TestInstance['another']>
}
