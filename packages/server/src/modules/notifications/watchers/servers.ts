import type { Database } from '../../../platform/database.ts'
import { errorMessage } from '../../../platform/error-message.ts'
import { roundRobin } from '../../../platform/round-robin.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import type { WatchedServer, WatchedServers } from '../watched.ts'

/** Consecutive failed checks after which a server counts as unreachable. */
const failuresToAnnounce = 3
const maxConcurrent = 8

/** Checks every server once. Announces the third failure in a row, and the first success after that. */
export async function watchServers(servers: WatchedServers, database: Database, now: Date, abort: AbortSignal): Promise<void> {
  const listed = await servers.list()
  await forgetOthers(database, listed)
  const waiting = roundRobin(listed, ({ organizationId }) => organizationId)
  const checkOne = async () => {
    for (let server = waiting.shift(); server; server = waiting.shift()) await poll(server, servers, { database, now, abort })
  }
  await Promise.all(Array.from({ length: maxConcurrent }, checkOne))
}

interface Check {
  database: Database
  now: Date
  abort: AbortSignal
}

async function poll(server: WatchedServer, servers: WatchedServers, { database, now, abort }: Check): Promise<void> {
  const failure = await servers.check(server.id, abort).then(() => null, messageOf)
  // A check that we aborted says nothing about the server.
  abort.throwIfAborted()
  await database.transaction((transaction) =>
    failure === null ? recordSuccess(transaction, server) : recordFailure(transaction, server, failure, now),
  )
}

async function recordFailure(
  { db, announce }: TransactionContext,
  server: WatchedServer,
  reason: string,
  now: Date,
): Promise<void> {
  const { failures, announcedAt } = await db
    .insertInto('serverFailures')
    .values({ serverId: server.id, failures: 1, announcedAt: null })
    .onConflict((conflict) =>
      conflict.column('serverId').doUpdateSet(({ eb }) => ({ failures: eb('serverFailures.failures', '+', 1) })),
    )
    .returning(['failures', 'announcedAt'])
    .executeTakeFirstOrThrow()
  if (failures < failuresToAnnounce || announcedAt !== null) return
  await db.updateTable('serverFailures').set({ announcedAt: now.getTime() }).where('serverId', '=', server.id).execute()
  await announce('server.unreachable', {
    organizationId: server.organizationId,
    subject: `Server ${server.name} is unreachable`,
    text: `${failures} checks of ${server.name} failed in a row: ${reason}`,
    data: { serverId: server.id, reachable: false },
  })
}

/** Announces recovery in the same category, so the recipients of the failure get it too. */
async function recordSuccess({ db, announce }: TransactionContext, server: WatchedServer): Promise<void> {
  const before = await db
    .deleteFrom('serverFailures')
    .where('serverId', '=', server.id)
    .returning('announcedAt')
    .executeTakeFirst()
  if (!before || before.announcedAt === null) return
  await announce('server.unreachable', {
    organizationId: server.organizationId,
    subject: `Server ${server.name} is reachable again`,
    text: `${server.name} is reachable again. It was unreachable since ${new Date(before.announcedAt).toISOString()}.`,
    data: { serverId: server.id, reachable: true },
  })
}

/** Forgets removed servers. */
async function forgetOthers({ db }: Database, listed: readonly WatchedServer[]): Promise<void> {
  const knownIds = new Set(listed.map(({ id }) => id))
  const failures = await db.selectFrom('serverFailures').select('serverId').execute()
  for (const { serverId } of failures) {
    if (!knownIds.has(serverId)) await db.deleteFrom('serverFailures').where('serverId', '=', serverId).execute()
  }
}

const messageOf = (error: unknown) => errorMessage(error).slice(0, 500)
