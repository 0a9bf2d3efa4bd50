import { type Kysely, sql } from 'kysely'
import { expect, test } from 'vitest'
import { describeOnEachDatabase } from '../../test-each-database.ts'
import { migration } from './008-domain-claims.ts'

describeOnEachDatabase('domains of before are claims', (open) => {
  test('domains keep their data, belong to the organisation, have a token and are not proven', async () => {
    const { db } = await open()
    await sql`insert into organizations (id, name, slug, "createdAt") values ('org_a', 'A', 'a', 1)`.execute(db)
    await db.schema.dropTable('domains').execute()
    await db.schema
      .createTable('domains')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('projectId', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
      .addColumn('hostname', 'text', (column) => column.notNull().unique())
      .addColumn('isPrimary', 'integer', (column) => column.notNull())
      .addColumn('tls', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('reason', 'text')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .execute()
    const none = { volumes: '[]', services: '[]', resources: '{}', sleepMode: 'always_on', autoDeploy: 0, previews: 0 } as const
    const times = { createdAt: 1, updatedAt: 1 }
    await db
      .insertInto('projects')
      .values({
        id: 'prj_a',
        organizationId: 'org_a',
        name: 'A',
        slug: 'a',
        type: 'app',
        enabled: 1,
        port: 3000,
        rollbackWindow: 5,
        ...none,
        ...times,
      })
      .execute()
    const old = { projectId: 'prj_a', isPrimary: 0, tls: 'active', state: 'pending', reason: null, createdAt: 7 } as const
    for (const name of ['one', 'two'])
      await db
        .insertInto('domains')
        .values({ ...old, id: `dom_${name}`, hostname: `${name}.test` } as never)
        .execute()

    await db.transaction().execute((tx) => migration.up(tx as never as Kysely<unknown>))
    const rows = await db.selectFrom('domains').selectAll().orderBy('id').execute()
    expect(rows).toMatchObject(
      ['one', 'two'].map((name) => ({
        ...old,
        ...{ id: `dom_${name}`, hostname: `${name}.test`, organizationId: 'org_a', provenAt: null, nextCheckAt: 7 },
      })),
    )
    expect(new Set(rows.map(({ proofToken }) => proofToken)).size).toBe(2)
    expect(rows.every(({ proofToken }) => /^[\w-]{32}$/.test(proofToken))).toBe(true)
    await db.deleteFrom('projects').where('id', '=', 'prj_a').execute()
    expect(await db.selectFrom('domains').selectAll().execute()).toEqual([])
  })
})
