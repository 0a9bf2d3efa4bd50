import { type Kysely, sql } from 'kysely'
import { expect, test } from 'vitest'
import { describeOnEachDatabase } from '../../test-each-database.ts'
import { migration } from './041-user-channels.ts'

describeOnEachDatabase('channels of before belong to their user', (open) => {
  test('channels with one target are merged with their subscriptions and deliveries; channels disabled by an organisation stay disabled', async () => {
    const { db } = await open()
    await oldTables(db as never)
    for (const id of ['org_a', 'org_b', 'org_c']) {
      await sql`insert into organizations (id, name, slug, "createdAt") values (${id}, ${id}, ${id}, 1)`.execute(db)
    }
    await sql`insert into users (id, email, "passwordHash", "createdAt") values ('usr_1', 'a@example.test', '', 1)`.execute(db)
    for (const id of ['org_a', 'org_b', 'org_c'])
      await sql`insert into members ("organizationId", "userId", role, "joinedAt") values (${id}, 'usr_1', 'member', 1)`.execute(
        db,
      )
    const channel = (id: string, organizationId: string, kind: string, config: string, [enabled, verified] = [1, 1]) =>
      sql`insert into "notificationChannels" values
        (${id}, ${organizationId}, 'usr_1', ${kind}, ${id}, ${config}, null, 1, ${enabled}, ${verified}, 1, 1)`.execute(db)
    await channel('bell_a', 'org_a', 'in_app', '{}')
    await channel('bell_b', 'org_b', 'in_app', '{}')
    await channel('bell_c', 'org_c', 'in_app', '{}', [0, 1])
    await channel('mail_a', 'org_a', 'email', '{"address":"a@example.test"}', [1, 0])
    await channel('mail_b', 'org_b', 'email', '{"address":"a@example.test"}')
    await channel('hook_a', 'org_a', 'webhook', '{"url":"https://example.test"}')
    await channel('hook_b', 'org_b', 'webhook', '{"url":"https://example.test"}')
    const subscription = (id: string, organizationId: string, channelId: string) =>
      sql`insert into "notificationSubscriptions" values
        (${id}, ${organizationId}, 'usr_1', ${channelId}, 'deploy.failed', 0, 1, 1)`.execute(db)
    await subscription('sub_a', 'org_a', 'bell_a')
    await subscription('sub_b', 'org_b', 'bell_b')
    await subscription('sub_m', 'org_a', 'mail_a')
    await sql`insert into announcements values ('ann', 'org_b', 'deploy.failed', null, 's', 't', '{}', 1, 1)`.execute(db)
    await sql`insert into deliveries (id, "announcementId", "organizationId", "userId", "channelId", "channelKind", category, status,
      attempts, "joinedCount", "createdAt") values ('ndl', 'ann', 'org_b', 'usr_1', 'bell_b', 'in_app', 'deploy.failed', 'sent', 1, 0, 1)`.execute(
      db,
    )

    await db.transaction().execute((tx) => migration.up(tx as never as Kysely<unknown>))

    const channels = await db.selectFrom('notificationChannels').select(['id', 'userId']).orderBy('id').execute()
    expect(channels.map(({ id }) => id)).toEqual(['bell_a', 'hook_a', 'hook_b', 'mail_b'])
    const subscriptions = await db.selectFrom('notificationSubscriptions').selectAll().orderBy('id').execute()
    const kept = subscriptions.filter(({ id }) => id.startsWith('sub_'))
    expect(kept.map(({ id, organizationId, channelId }) => [id, organizationId, channelId])).toEqual([
      ['sub_a', 'org_a', 'bell_a'],
      ['sub_b', 'org_b', 'bell_a'],
      ['sub_m', 'org_a', 'mail_b'],
    ])
    const silent = subscriptions.filter(({ id }) => !id.startsWith('sub_'))
    expect(silent).toHaveLength(19)
    for (const row of silent) expect(row).toMatchObject({ organizationId: 'org_c', channelId: 'bell_a', enabled: 0 })
    expect(await db.selectFrom('deliveries').select('channelId').execute()).toEqual([{ channelId: 'bell_a' }])
    await db.deleteFrom('members').where('organizationId', '=', 'org_c').execute()
    expect(await db.selectFrom('notificationSubscriptions').selectAll().execute()).toHaveLength(3)
    await db.deleteFrom('notificationChannels').where('id', '=', 'bell_a').execute()
    expect(await db.selectFrom('notificationSubscriptions').select('id').execute()).toEqual([{ id: 'sub_m' }])
  })
})

async function oldTables(db: Kysely<unknown>): Promise<void> {
  for (const table of ['feedOptOuts', 'notificationSubscriptions', 'notificationChannels'])
    await db.schema.dropTable(table).execute()
  await sql`create table "notificationChannels" (id text primary key, "organizationId" text not null, "userId" text not null,
    kind text not null, label text not null, config text not null, secrets text, "configRevision" integer not null,
    enabled integer not null, verified integer not null, "createdAt" bigint not null, "updatedAt" bigint not null,
    constraint "channelOfMember" foreign key ("organizationId", "userId") references members ("organizationId", "userId") on delete cascade)`.execute(
    db,
  )
  await sql`create index "channelsOfMember" on "notificationChannels" ("organizationId", "userId", "createdAt", id)`.execute(db)
  await sql`create table "notificationSubscriptions" (id text primary key, "organizationId" text not null, "userId" text not null,
    "channelId" text not null references "notificationChannels" (id) on delete cascade, category text not null,
    enabled integer not null, "createdAt" bigint not null, "updatedAt" bigint not null,
    constraint "subscriptionToggle" unique ("channelId", category))`.execute(db)
  await sql`create index "subscriptionsOfMember" on "notificationSubscriptions" ("organizationId", "userId", "createdAt", id)`.execute(
    db,
  )
}
