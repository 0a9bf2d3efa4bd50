// gate: also on PostgreSQL, since two attempts meet in the database
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ArchiveIndex } from '../../src/drivers/archive/archive.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene?.end())

/** A call that blocks until the test releases it, regardless of its abort signal. */
function standstill() {
  const [reached, released, ended] = [0, 1, 2].map(() => Promise.withResolvers<void>()) as [Held, Held, Held]
  const stand = () => {
    reached.resolve()
    return released.promise
  }
  const release = () => {
    released.resolve()
    return ended.promise
  }
  return { stand, reached: reached.promise, release, ended: ended.resolve }
}
type Held = PromiseWithResolvers<void>

const db = () => scene.instance.database.db

/** Simulates a process that was suspended for longer than its lease. */
async function takeJobAway(): Promise<void> {
  const free = { status: 'queued', leaseToken: null, leaseUntil: null } as const
  const taken = await db()
    .updateTable('jobs')
    .set(free)
    .where('kind', '=', 'backups.run')
    .where('status', '=', 'running')
    .returning('id')
    .execute()
  expect(taken).toHaveLength(1)
  scene.instance.database.signals.publish('jobs', { due: true })
}

test.each(['comes to its end', 'finds its objects gone'])(
  'an attempt that lost its job and %s does not end the run of the next attempt',
  async (how) => {
    // Content that no earlier run stored, so that each attempt stores it.
    await scene.fill({ 'a.txt': how })
    const policy = await scene.makePolicy()
    const [first, second] = [standstill(), standstill()]
    const isLate = how === 'comes to its end'
    let opened = 0
    scene.withStore((store) => {
      opened += 1
      const isFirst = opened === 1
      return {
        async *get(name, abort, options) {
          const isLast = name.includes('manifest')
          if (isFirst && !isLate && !isLast) await first.stand()
          yield* store.get(name, abort, options)
          if (isFirst && isLate && isLast) await first.stand()
        },
        async put(name, content, abort) {
          if (!isFirst && !name.includes('manifest')) await second.stand()
          return store.put(name, content, abort)
        },
        async close() {
          await store.close()
          if (isFirst) first.ended()
          else second.ended()
        },
      }
    })
    const runId = await scene.start(policy.id)
    await first.reached
    await takeJobAway()
    await second.reached
    await first.release()
    await second.release()
    expect(await scene.ended(runId)).toMatchObject({ status: 'succeeded', error: null })
    expect(scene.stored()).toEqual(expect.arrayContaining(await namesOf(runId)))
  },
)

/** The objects that a restore of the run reads. */
async function namesOf(runId: string): Promise<string[]> {
  const { manifestName } = await db()
    .selectFrom('backupRuns')
    .select('manifestName')
    .where('id', '=', runId)
    .executeTakeFirstOrThrow()
  const rows = await db().selectFrom('backupArtifacts').select('index').where('runId', '=', runId).execute()
  expect(rows).toHaveLength(1)
  return [String(manifestName), ...rows.flatMap(({ index }) => (JSON.parse(index) as ArchiveIndex).parts.map(({ name }) => name))]
}
