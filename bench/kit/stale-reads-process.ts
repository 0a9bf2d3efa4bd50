// One of the processes of stale-reads.ts: answers reads with prepared queries, and writes with transactions that only raise a value.
import { openDatabase } from '../../packages/server/src/platform/database.ts'
import { preparedPage } from '../../packages/server/src/platform/db/pages.ts'
import { preparedQuery } from '../../packages/server/src/platform/db/prepared.ts'

type Message = { id: number } & ({ write: number; value: number } | { read: number; asPage: boolean })

const database = await openDatabase(JSON.parse(process.argv[2]!))
const keyOf = (key: number) => `stale-reads-${key}`
const one = preparedQuery<{ key: string }, { forgetAt: number }>((db, { key }) =>
  db.selectFrom('announcedOnce').selectAll().where('key', '=', key),
)
const all = preparedPage<Record<never, string>, 'announcedOnce', { key: string; forgetAt: number }>(
  (db) => db.selectFrom('announcedOnce').selectAll(),
  { by: ['key'], direction: 'asc' },
)

async function readValue(key: string, asPage: boolean): Promise<number> {
  if (!asPage) return (await one.first(database.db, { key }))?.forgetAt ?? 0
  const { rows } = await all(database.db, {}, { limit: 100 })
  return rows.find((row) => row.key === key)?.forgetAt ?? 0
}

async function write(key: string, value: number): Promise<number> {
  await database.transaction(async ({ db }) => {
    await db
      .insertInto('announcedOnce')
      .values({ key, forgetAt: value })
      .onConflict((conflict) =>
        conflict.column('key').doUpdateSet({ forgetAt: value }).where('announcedOnce.forgetAt', '<', value),
      )
      .execute()
  })
  return value
}

process.on('message', async (message: Message) => {
  const value =
    'write' in message ? await write(keyOf(message.write), message.value) : await readValue(keyOf(message.read), message.asPage)
  process.send!({ id: message.id, value })
})
process.once('disconnect', () => void database.close())
process.send!({ id: 0, value: 0 })
