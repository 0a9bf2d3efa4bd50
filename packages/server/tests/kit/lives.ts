import type { Parts } from '../../src/instance/assemble/assemble.ts'
import type { TestInstance } from './instance.ts'
import { keepSchedules } from './kept-schedules.ts'

/** A control plane from its start to its end, with the steps it has taken and the step at which it dies. */
export interface Life {
  steps: number
  at: number
  instead: (() => Promise<void>) | undefined
  isDead: boolean
  died: PromiseWithResolvers<void>
  plane: ReturnType<TestInstance['another']>
}

/**
 * Control planes that can be killed between any two steps that are visible from outside: a transaction, and every call that goes
 * through `step`. Promises that a killed control plane awaits never settle, and its later calls have no effect. Its rows stay
 * unchanged, including leases.
 */
export class Lives {
  protected readonly instance: TestInstance
  protected current: Life | undefined
  /** The schedules that run while time passes; by default all of the instance. */
  keptSchedules: readonly string[] | undefined
  readonly #lives: Life[] = []
  readonly #partsOf: (life: Life) => Partial<Parts>

  /** `partsOf`: parts of a new control plane whose calls are steps, besides its transactions. */
  constructor(instance: TestInstance, partsOf: (life: Life) => Partial<Parts> = () => ({})) {
    this.instance = instance
    this.#partsOf = partsOf
  }

  /**
   * Starts a control plane, which resumes existing work. At step `at` it dies; with `instead`, that function runs there instead. By
   * default neither happens.
   */
  async start(at = Number.POSITIVE_INFINITY, instead?: () => Promise<void>): Promise<Life> {
    const life: Life = {
      steps: 0,
      at: Number.POSITIVE_INFINITY,
      instead,
      isDead: false,
      died: Promise.withResolvers(),
      plane: undefined as never,
    }
    const { database } = this.instance
    const transaction: Parts['database']['transaction'] = (work) => this.step(life, () => database.transaction(work))
    life.plane = this.instance.another({ database: { ...database, transaction }, ...this.#partsOf(life) })
    await this.#expireLeases()
    // A dead control plane claims nothing.
    await this.end()
    this.#lives.push(life)
    this.current = life
    await life.plane.jobs.start()
    await life.plane.jobs.whenIdle()
    if (this.keptSchedules) await keepSchedules(database, this.keptSchedules)
    Object.assign(life, { steps: 0, at })
    return life
  }

  /** Resolves when the control plane has no work left or is dead. */
  async idle(life: Life): Promise<'idle' | 'dead'> {
    return Promise.race([life.plane.jobs.whenIdle().then(() => 'idle' as const), life.died.promise.then(() => 'dead' as const)])
  }

  async end(): Promise<void> {
    for (const { plane } of this.#lives.splice(0)) await plane.jobs.stop({ graceMs: 0 })
  }

  async step<Result>(life: Life | undefined, work: () => Promise<Result>): Promise<Result> {
    if (!life) return work()
    await this.mayDie(life)
    const result = await work()
    await this.mayDie(life)
    return result
  }

  async mayDie(life: Life): Promise<void> {
    const isNow = life.steps === life.at
    life.steps += 1
    if (isNow && life.instead) await life.instead()
    else if (isNow) {
      life.isDead = true
      life.died.resolve()
    }
    if (life.isDead) await new Promise(() => undefined)
  }

  /** Expires the leases of dead processes, which renew none, so that the next control plane does not wait for them. */
  async #expireLeases(): Promise<void> {
    await this.instance.database.db
      .updateTable('jobs')
      .set({ leaseToken: 'of a dead process', leaseUntil: 1 })
      .where('status', '=', 'running')
      .execute()
  }
}
