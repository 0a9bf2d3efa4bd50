import type { Kysely } from 'kysely'
import { expect, test } from 'vitest'
import { describeOnEachDatabase } from '../../test-each-database.ts'
import { migration } from './037-newest-source.ts'

const never = 8_640_000_000_000_000

describeOnEachDatabase('uploads of deployments from before', (open) => {
  test('uploads of the rollback window are kept, and the newest one is the source of an upload project', async () => {
    const { db } = await open()
    const before = db as never as Kysely<Record<string, Record<string, unknown>>>
    for (const table of ['projects', 'environments', 'deployments']) await before.schema.dropIndex(`${table}ByUpload`).execute()
    await before.schema.alterTable('environments').dropColumn('uploadSessionId').execute()
    for (const column of ['uploadSessionId', 'configHash', 'resourcesHash', 'envVersion'])
      await before.schema.alterTable('deployments').dropColumn(column).execute()
    await before.schema.alterTable('projects').dropColumn('envVersion').execute()

    const times = { createdAt: 1, updatedAt: 1 }
    await before.insertInto('organizations').values({ id: 'org_a', name: 'A', slug: 'a', createdAt: 1 }).execute()
    const project = {
      ...{ organizationId: 'org_a', name: 'A', type: 'app', enabled: 1, port: 3000, rollbackWindow: 5, volumes: '[]' },
      ...{ services: '[]', resources: '{}', sleepMode: 'always_on', autoDeploy: 0, previews: 0, ...times },
    }
    await before
      .insertInto('projects')
      .values([
        { ...project, id: 'prj_upload', slug: 'a', gitProvider: 'upload', uploadSessionId: 'upl_1' },
        { ...project, id: 'prj_git', slug: 'b', gitProvider: 'github', uploadSessionId: null },
      ])
      .execute()
    const session = {
      ...{ organizationId: 'org_a', createdBy: 'usr_a', projectId: null, hints: '{}', status: 'received' },
      ...{ sizeBytes: 1, files: 1, expiresAt: 100, inStore: 0 },
    }
    await before
      .insertInto('uploadSessions')
      .values([1, 2, 3, 4].map((at) => ({ ...session, id: `upl_${at}`, createdAt: at })))
      .execute()
    const deployment = (id: string, projectId: string, number: number, changes: object) => ({
      ...{
        id,
        projectId,
        number,
        environment: 'production',
        trigger: 'manual',
        config: '{}',
        steps: '[]',
        force: 0,
        createdAt: 1,
      },
      ...{ artifacts: null, ...changes },
    })
    const of = (sessionId: string) => ({ source: JSON.stringify({ kind: 'upload', sessionId }) })
    await before
      .insertInto('deployments')
      .values([
        deployment('dep_2', 'prj_upload', 1, { ...of('upl_2'), status: 'superseded', artifacts: '{}' }),
        deployment('dep_3', 'prj_upload', 2, { ...of('upl_3'), status: 'live', artifacts: '{}' }),
        deployment('dep_x', 'prj_upload', 3, { ...of('upl_gone'), status: 'failed' }),
        deployment('dep_4', 'prj_git', 1, { ...of('upl_4'), status: 'failed' }),
      ])
      .execute()

    await db.transaction().execute((tx) => migration.up(tx as never as Kysely<unknown>))
    const kept = await db.selectFrom('deployments').select(['id', 'uploadSessionId']).orderBy('id').execute()
    expect(kept.map(({ uploadSessionId }) => uploadSessionId)).toEqual(['upl_2', 'upl_3', null, null])
    const sessions = await db.selectFrom('uploadSessions').select('expiresAt').orderBy('id').execute()
    expect(sessions.map(({ expiresAt }) => expiresAt)).toEqual([100, never, never, 100])
    const rows = await db.selectFrom('projects').select('uploadSessionId').orderBy('id', 'desc').execute()
    expect(rows.map(({ uploadSessionId }) => uploadSessionId)).toEqual(['upl_3', null])
  })
})
