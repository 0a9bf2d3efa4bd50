// gate: also on PostgreSQL, since its planner chooses other plans
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from './kit/call.ts'
import { startInstance, type TestInstance } from './kit/instance.ts'
import { fillTables } from './kit/large-tables.ts'
import { makePeople, type People } from './kit/people.ts'
import { makeProject } from './kit/projects.ts'
import { rowsReadBy, type Statement, selectsDuring, stepsOf } from './kit/statement-work.ts'

/** Tables that grow with the use of an instance. */
const largeTables = [
  ...['projects', 'environments', 'domains', 'deployments', 'liveEnvironments', 'backupRuns', 'auditLog'],
  ...['users', 'members', 'announcements', 'deliveries'],
]
/** Rows of which a project has few: sorting them is quick. */
const fewPerProject = / from "environments" /
/** The most rows that a statement of a read may read: a page of 20, and the rows beside it. */
const maxRows = 400

let instance: TestInstance
/** The organisation that has filled the tables, and one with a single old project beside it. */
let busy: Reader
let quiet: Reader

interface Reader {
  people: People
  projectId: string
}

async function makeReader(): Promise<Reader> {
  const people = await makePeople(instance)
  const project = await makeProject(instance, people.owner.token, { gitUrl: 'https://git.example.test/acme/shop.git' })
  return { people, projectId: project.id }
}

beforeAll(async () => {
  instance = await startInstance()
  quiet = await makeReader()
  busy = await makeReader()
  const { organizationId, userId } = busy.people.owner
  await fillTables(
    instance.database.db,
    { organizationId, projectId: busy.projectId, userId },
    { projects: 2_000, ofFirstProject: 2_000, members: 10, deliveriesPerMember: 2_000, auditEntries: 10_000 },
  )
})
afterAll(() => instance?.stop())

const lists = [
  ['GET /projects', {}, 'projectsOfOrganization'],
  ['GET /projects/:id/deployments', {}, 'deploymentsOfProject'],
  ['GET /deployments', {}, 'deploymentsOfOrganization'],
  ['GET /deployments', { projectId: 'own' }, 'deploymentsOfProject'],
  ['GET /notifications/deliveries', {}, 'deliveriesInFeed'],
  ['GET /notifications/deliveries', { unseen: true }, 'deliveriesUnseen'],
  ['GET /notifications/deliveries', { kind: 'all' }, 'deliveriesOfMember'],
  ['GET /audit-log', {}, 'sqlite_autoindex_auditLog_2'],
  ['GET /audit-log', { objectId: 'prj_1' }, 'auditLogOfObject'],
  ['GET /audit-log', { action: 'POST /projects' }, 'auditLogOfAction'],
  ['GET /audit-log', { userId: 'owner' }, 'auditLogOfUser'],
  ['GET /projects/:id/backup-runs', {}, 'backupRunsOfProject'],
  ['GET /backup-runs', {}, 'backupRunsOfOrganization'],
] as const

const others = [
  ...['GET /projects/:id', 'GET /projects/:id/info', 'GET /projects/:id/environments', 'GET /projects/:id/domains'],
  ...['GET /projects/:id/env', 'GET /notifications/deliveries/unseen-count', 'GET /auth/session', 'GET /projects/:id/cron-jobs'],
]

const read = async ({ people, projectId }: Reader, at: string, query = {}) => {
  const answer = await call(instance, people.owner.token, at as 'GET /', { params: { id: projectId, projectId }, query })
  expect(answer.status, `${at} ${JSON.stringify(answer.body)}`).toBe(200)
  return answer.body
}

/** The first page and, if there is one, the second. */
async function readPages(reader: Reader, at: string, given: Record<string, unknown>): Promise<number> {
  const query = {
    ...given,
    ...(given.userId ? { userId: reader.people.owner.userId } : {}),
    ...(given.projectId ? { projectId: reader.projectId } : {}),
  }
  const first = await read(reader, at, { ...query, limit: 20 })
  if (first.nextCursor === null) return first.data.length
  const second = await read(reader, at, { ...query, limit: 20, cursor: first.nextCursor })
  return first.data.length + second.data.length
}

/** Fails if a statement reads more of a large table than the page needs. */
async function checkWork(statements: readonly Statement[]): Promise<void> {
  const { db, kind } = instance.database
  for (const statement of statements) {
    if (kind === 'postgres') {
      const { rows, plan } = await rowsReadBy(db, statement)
      expect(rows, `${statement.sql}\n${plan}`).toBeLessThan(maxRows)
      continue
    }
    const steps = await stepsOf(db, statement)
    const scanned = largeTables.filter((table) => steps.some((step) => step.startsWith(`SCAN ${table}`)))
    const isPageOfMany = statement.sql.includes(' limit ') && !fewPerProject.test(statement.sql)
    const sorted = isPageOfMany ? steps.filter((step) => step.includes('TEMP B-TREE')) : []
    expect([...scanned, ...sorted], `${statement.sql}\n${steps.join('\n')}`).toEqual([])
  }
}

test.each(lists)('a page reads only its own rows: %s %o', async (at, query, index) => {
  let count = 0
  const statements = await selectsDuring(instance.database.db, async () => {
    count = await readPages(busy, at, query)
    await readPages(quiet, at, query)
  })
  expect(count).toBeGreaterThan(0)
  await checkWork(statements)
  if (instance.database.kind === 'postgres') return
  const steps = await Promise.all(statements.map((statement) => stepsOf(instance.database.db, statement)))
  expect(steps.flat().filter((step) => step.includes(`INDEX ${index} `)).length, steps.flat().join('\n')).toBeGreaterThan(0)
})

test.each(others)('a read costs the same in a large instance: %s', async (at) => {
  const statements = await selectsDuring(instance.database.db, async () => {
    await read(busy, at)
    await read(quiet, at)
  })
  expect(statements.length).toBeGreaterThan(0)
  await checkWork(statements)
})

test('a project with thousands of deployments is shown with its newest and its live one', async () => {
  const { data } = await read(busy, 'GET /projects/:id/info')
  expect(data.runtime.deploymentId).toBe('dep_first2000')
  const page = await read(busy, 'GET /projects/:id/deployments', { limit: 1 })
  expect(page.data[0]).toMatchObject({ number: 2_000, status: 'live' })
})

test('statements that read too much are recognised', async () => {
  const { db, kind } = instance.database
  const scan = { sql: 'select * from "deployments" as "all" order by "all"."commitMessage" limit 5', parameters: [] }
  await expect(checkWork([scan])).rejects.toThrow('commitMessage')
  if (kind === 'sqlite') expect((await stepsOf(db, scan))[0]).toBe('SCAN deployments')
})
