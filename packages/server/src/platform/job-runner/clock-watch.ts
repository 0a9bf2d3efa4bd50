import type { Clock } from '../clock.ts'
import type { Database } from '../database.ts'
import type { Millis } from '../db/columns.ts'
import type { Db } from '../db/schema.ts'

/** The wall clock has jumped if it differs by more than this from the monotonic clock or the stored mark. */
export const jumpMs = 10 * 60_000
/** The clock counts as steady again after this long without a jump. */
export const steadyMs = 24 * 3_600_000
/** Maximum downtime: a longer one cannot be distinguished from a wrong clock. */
const downtimeMs = 24 * 3_600_000
const markIntervalMs = 60_000
const markId = 'clock'

/** Detects jumps of the wall clock, and records the time that deletions by age may assume. */
export class ClockWatch {
  readonly #db: Db
  readonly #clock: Clock
  readonly #monotonic: () => Millis
  #last: { wall: Millis; monotonic: Millis } | undefined
  #markedAt = Number.NEGATIVE_INFINITY

  constructor({ db }: Pick<Database, 'db'>, clock: Clock, monotonic: () => Millis = () => performance.now()) {
    this.#db = db
    this.#clock = clock
    this.#monotonic = monotonic
  }

  /** Returns by how much the clock jumped since the last call, or since the previous process; undefined if it did not jump. */
  async check(): Promise<Millis | undefined> {
    const current = { wall: this.#clock.now().getTime(), monotonic: this.#monotonic() }
    const last = this.#last
    const jumpedMs = last
      ? Math.round(current.wall - last.wall - (current.monotonic - last.monotonic))
      : await this.#sinceMark(current.wall)
    const isJump = jumpedMs > (last ? jumpMs : downtimeMs) || jumpedMs < -jumpMs
    const isMarkDue = current.monotonic - this.#markedAt >= markIntervalMs
    if (isJump) await this.#limitDeletions(last?.wall ?? current.wall - jumpedMs, current.wall)
    else if (isMarkDue) await this.#mark(current.wall)
    if (isJump || isMarkDue) this.#markedAt = current.monotonic
    this.#last = current
    return isJump ? jumpedMs : undefined
  }

  async #sinceMark(now: Millis): Promise<Millis> {
    const mark = await findMark(this.#db)
    return mark ? now - mark.seenAt : 0
  }

  /** Deletions assume the earlier of both times until the clock is steady. */
  async #limitDeletions(last: Millis, now: Millis): Promise<void> {
    const mark = await findMark(this.#db)
    const heldAt = Math.min(mark?.heldAt ?? last, last, now)
    await this.#save({ seenAt: now, heldAt, steadySince: now })
  }

  async #mark(now: Millis): Promise<void> {
    const mark = await findMark(this.#db)
    const steadySince = mark?.steadySince ?? now
    const heldAt = mark?.heldAt != null && now - steadySince < steadyMs ? mark.heldAt : null
    await this.#save({ seenAt: now, heldAt, steadySince })
  }

  async #save(mark: { seenAt: Millis; heldAt: Millis | null; steadySince: Millis }): Promise<void> {
    await this.#db
      .insertInto('clockMarks')
      .values({ id: markId, ...mark })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(mark))
      .execute()
  }
}

const findMark = (db: Db) => db.selectFrom('clockMarks').selectAll().where('id', '=', markId).executeTakeFirst()

/**
 * The time that deletions by age assume. It is never later than the time recorded while the clock was steady: a clock that is
 * temporarily wrong deletes nothing.
 */
export async function deletionTime({ db }: Pick<Database, 'db'>, now: Date): Promise<Millis> {
  const mark = await findMark(db)
  if (!mark) return now.getTime()
  return Math.min(now.getTime(), mark.heldAt ?? Number.POSITIVE_INFINITY, mark.seenAt + jumpMs)
}
