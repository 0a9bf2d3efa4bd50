import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Database } from '../database.ts'
import { databaseNow } from '../db/now.ts'
import { silentLog } from '../log.ts'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { type ClaimOptions, claimMachine, type MachineIdentity, MachineRefused, refuseOtherMachine } from './machine-lease.ts'

const first: MachineIdentity = { id: 'mch_first', hostname: 'one', dataDir: '/srv/one', role: 'all', location: 'boot-1 1:1' }
const other: MachineIdentity = { ...first, id: 'mch_other', hostname: 'two', dataDir: '/srv/two', location: 'boot-2 1:1' }
/** The same id in a copy of the data folder. */
const copy: MachineIdentity = { ...first, hostname: 'two', dataDir: '/srv/copy', location: 'boot-2 5:9' }

const claim = (database: Database, identity: MachineIdentity, options: Partial<ClaimOptions> = {}) =>
  claimMachine(database, identity, { leaseMs: 900, takeOver: false, assign: async () => undefined, log: silentLog, ...options })

const setHeartbeat = ({ db, kind }: Database, agoMs: number) =>
  db
    .updateTable('machines')
    .set(({ eb }) => ({ seenAt: eb(databaseNow(kind), '-', agoMs) }))
    .execute()

const holderOf = ({ db }: Database) => db.selectFrom('machines').select(['id', 'hostname', 'sessionToken']).execute()

describeOnEachDatabase('the machine that runs projects', (open, kind) => {
  test('a first start claims the database and assigns the rows in one transaction', async () => {
    const database = await open()
    const refused = claim(database, first, { assign: () => Promise.reject(new Error('not assigned')) })
    await expect(refused).rejects.toThrow('not assigned')
    expect(await holderOf(database)).toEqual([])
    const lease = await claim(database, first)
    expect(await holderOf(database)).toEqual([{ id: 'mch_first', hostname: 'one', sessionToken: expect.any(String) }])
    await lease.release()
    expect(await holderOf(database)).toEqual([{ id: 'mch_first', hostname: 'one', sessionToken: null }])
  })

  test('a start after kill -9 on the same machine does not wait', async () => {
    const database = await open()
    // Longer than the test may take: a start that waited for the lease would time out.
    const killed = await claim(database, first, { leaseMs: 3_600_000 })
    const again = await claim(database, first, { leaseMs: 3_600_000 })
    await again.release()
    await killed.release()
  })

  test('a process whose id was claimed by another one is told that its lease is lost', async () => {
    const database = await open()
    const paused = await claim(database, first)
    const next = await claim(database, { ...first, hostname: 'newer' })
    expect(await paused.lost).toContain('newer (data folder /srv/one, since ')
    // The end of the old process does not end the lease of the new one.
    await paused.release()
    expect((await holderOf(database))[0]?.sessionToken).not.toBeNull()
    await next.release()
  })

  test('a removed record ends the lease too', async () => {
    const database = await open()
    const lease = await claim(database, first)
    await database.db.deleteFrom('machines').execute()
    expect(await lease.lost).toContain('was removed')
    await lease.release()
  })

  if (kind === 'sqlite')
    test('a new id in the data folder of a SQLite file is accepted', async () => {
      const database = await open()
      await (await claim(database, first)).release()
      const lease = await claim(database, other)
      expect(await holderOf(database)).toMatchObject([{ id: 'mch_other' }])
      await lease.release()
    })
  else onlyOnPostgres(open)
})

function onlyOnPostgres(open: Parameters<Parameters<typeof describeOnEachDatabase>[1]>[0]): void {
  test.each([
    ['running', false],
    ['stopped', true],
  ])('a second machine is refused while the first is %s, with its name, folder and the remedy', async (_, isStopped) => {
    const database = await open()
    const lease = await claim(database, first)
    if (isStopped) await lease.release()
    const refused = claim(database, other)
    await expect(refused).rejects.toThrow(MachineRefused)
    for (const text of ['one (data folder /srv/one, since ', 'SSH server', 'BERTH_ROLE=api', 'berth up --take-over'])
      await expect(refused).rejects.toThrow(text)
    expect(await holderOf(database)).toMatchObject([{ id: 'mch_first' }])
    await lease.release()
  })

  test('a second machine is refused before it migrates the database', async () => {
    const database = await open()
    await refuseOtherMachine(database, other, { takeOver: false })
    const lease = await claim(database, first)
    await refuseOtherMachine(database, first, { takeOver: false })
    await refuseOtherMachine(database, other, { takeOver: true })
    await expect(refuseOtherMachine(database, other, { takeOver: false })).rejects.toThrow('one (data folder /srv/one, since ')
    await lease.release()
  })

  test('of two machines that start concurrently one is refused', async () => {
    const database = await open()
    const again = await database.openAgain()
    const results = await Promise.allSettled([claim(database, first), claim(again, other)])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await holderOf(database)).toHaveLength(1)
    for (const result of results) if (result.status === 'fulfilled') await result.value.release()
    await again.close()
  })

  test('of two copies of one folder that start concurrently one is refused', async () => {
    const database = await open()
    const again = await database.openAgain()
    const results = await Promise.allSettled([claim(database, first), claim(again, copy)])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    for (const result of results) if (result.status === 'fulfilled') await result.value.release()
    await again.close()
  })

  test('a copy of the data folder is refused while the first process sends heartbeats, and accepted afterwards', async () => {
    const database = await open()
    const again = await database.openAgain()
    const lease = await claim(database, first)
    await expect(claim(again, copy)).rejects.toThrow('copy of one that is in use by one (data folder /srv/one')
    await lease.release()
    const moved = await claim(again, copy)
    await moved.release()
    await again.close()
  })

  test('a copy waits for the lease of a process that was killed on another machine', async () => {
    const database = await open()
    await (await claim(database, first)).release()
    // As after kill -9: the token is still there, and no heartbeat follows.
    await database.db.updateTable('machines').set({ sessionToken: 'killed' }).execute()
    await setHeartbeat(database, 0)
    const moved = await claim(database, copy)
    const [row] = await database.db.selectFrom('machines').select('hostname').execute()
    expect(row).toEqual({ hostname: 'two' })
    await moved.release()
  })

  test('a take-over is refused while the first machine runs, and replaces it afterwards', async () => {
    const database = await open()
    const lease = await claim(database, first)
    await expect(claim(database, other, { takeOver: true })).rejects.toThrow('is still running. Stop it first')
    await lease.release()
    let assigned = false
    const assign = async () => {
      assigned = true
    }
    const taken = await claim(database, other, { takeOver: true, assign })
    expect([await holderOf(database), assigned]).toEqual([[expect.objectContaining({ id: 'mch_other' })], true])
    await expect(claim(database, first)).rejects.toThrow('two (data folder /srv/two')
    await taken.release()
  })

  test('a machine without heartbeats is replaced at once, and its exit does not end the new lease', async () => {
    const database = await open()
    // A heartbeat per hour: the process is paused as far as the database can tell.
    const paused = await claim(database, first, { leaseMs: 3_600_000 })
    await setHeartbeat(database, 5_000)
    const taken = await claim(database, other, { takeOver: true })
    await paused.release()
    expect(await holderOf(database)).toEqual([{ id: 'mch_other', hostname: 'two', sessionToken: expect.any(String) }])
    await taken.release()
  })

  test('the clock of the database is used: a machine whose clock is a day ahead is not stale', async () => {
    const database = await open()
    const lease = await claim(database, first)
    const realNow = Date.now
    Date.now = () => realNow() + 86_400_000
    try {
      await expect(claim(database, copy)).rejects.toThrow(MachineRefused)
    } finally {
      Date.now = realNow
    }
    await lease.release()
  })

  test('a lost connection keeps the lease: the heartbeat continues with the next connection', async () => {
    const database = await open()
    const again = await database.openAgain()
    const lease = await claim(database, first)
    let isLost = false
    void lease.lost.then(() => {
      isLost = true
    })
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
      .execute(again.db)
      .catch(() => undefined)
    await setHeartbeat(again, 60_000)
    const ageMs = async () => {
      const row = await again.db
        .selectFrom('machines')
        .select(({ eb }) => eb(databaseNow('postgres'), '-', eb.ref('seenAt')).as('age'))
        .executeTakeFirstOrThrow()
      return Number(row.age)
    }
    await expect.poll(ageMs).toBeLessThan(30_000)
    expect(isLost).toBe(false)
    await lease.release()
    await again.close()
  })
}
