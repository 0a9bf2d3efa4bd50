import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as DatabaseModule from '../../packages/server/src/platform/database.ts'
import type * as IdsModule from '../../packages/server/src/platform/db/ids.ts'
import { benchAdmin } from './api-reads.ts'

export interface TableScene {
  headers: Record<string, string>
  projectIds: string[]
  /** The project with deployments and variables. */
  projectId: string
}

const json = { 'content-type': 'application/json' }

/** Signs in, and makes projects and 11 variables with the API. */
export async function makeScene(url: string, projects: number): Promise<TableScene> {
  const send = async (method: string, path: string, body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/api${path}`, { method, headers: { ...json, ...headers }, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return { data: ((await response.json()) as { data: { id: string; token: string } }).data, headers: response.headers }
  }
  const login = await send('POST', '/auth/login', {
    email: benchAdmin.BERTH_ADMIN_EMAIL,
    password: benchAdmin.BERTH_ADMIN_PASSWORD,
  })
  const cookie = login.headers.getSetCookie()[0]?.split(';')[0] as string
  const { data } = await send('POST', '/tokens', { name: 'bench' }, { cookie, origin: url })
  const headers = { authorization: `Bearer ${data.token}` }
  const projectIds: string[] = []
  for (let at = 0; at < projects; at += 1) {
    const gitUrl = `https://git.example.test/acme/project-${at}.git`
    const made = await send('POST', '/projects', { name: `Project ${at}`, gitUrl, framework: 'nextjs' }, headers)
    projectIds.push(made.data.id)
  }
  const projectId = projectIds.at(-1)!
  const upserts = Array.from({ length: 11 }, (_, at) => ({ key: `NAME_${at}`, value: `value ${at}`, isSecret: at % 3 === 0 }))
  await send('PATCH', `/projects/${projectId}/env`, { upserts }, headers)
  return { headers, projectIds, projectId }
}

export interface StoredIn {
  /** The tree whose code opens the database. */
  tree: string
  folder: string
  url?: string
}

/** Adds 50 deployments and 50 deliveries to the database of a stopped instance. */
export async function addHistory({ tree, ...settings }: StoredIn, projectId: string): Promise<void> {
  const load = (name: string) => import(pathToFileURL(join(tree, 'packages/server/src/platform', name)).href)
  const { openDatabase } = (await load('database.ts')) as typeof DatabaseModule
  const { newId } = (await load('db/ids.ts')) as typeof IdsModule
  const database = await openDatabase(settings)
  const { db } = database
  const { userId, organizationId } = await db.selectFrom('members').selectAll().executeTakeFirstOrThrow()
  const began = Date.now()
  for (let at = 0; at < 50; at += 1) {
    const createdAt = began + at
    const steps = ['fetch', 'plan', 'build', 'start', 'health', 'switch', 'drain'].map((name) => {
      const time = new Date(createdAt).toISOString()
      return { name, status: 'succeeded', startedAt: time, finishedAt: time }
    })
    await db
      .insertInto('deployments')
      .values({
        ...{ id: newId('dep'), projectId, environment: 'production', number: at + 1, trigger: 'manual' },
        ...{ status: 'superseded', source: '{"kind":"git","url":"https://git.example.test/a.git","branch":"main"}' },
        ...{ config: '{}', steps: JSON.stringify(steps), force: 0, createdAt, startedAt: createdAt, finishedAt: createdAt },
      } as never)
      .execute()
    const announcementId = newId('job')
    const common = { organizationId, category: 'deploy.failed' as const, createdAt }
    const text = 'The build ended with exit code 1. The last lines of its log follow.'
    await db
      .insertInto('announcements')
      .values({ ...common, id: announcementId, projectId, subject: `Deployment ${at} failed`, text, data: '{}', sequence: at })
      .execute()
    await db
      .insertInto('deliveries')
      .values({
        ...{ ...common, id: newId('ndl'), announcementId, userId, channelId: 'nch_bench', channelKind: 'in_app' as const },
        ...{ status: 'sent' as const, attempts: 1, joinedCount: 0, sentAt: createdAt },
      })
      .execute()
  }
  await database.close()
}
