import { newId } from '../packages/server/src/platform/db/ids.ts'
import { startInstance, type TestInstance } from '../packages/server/tests/kit/instance.ts'
import { makePeople, type People } from '../packages/server/tests/kit/people.ts'
import { makeProject } from '../packages/server/tests/kit/projects.ts'

/**
 * Compares the time of a page of the project list (the first, and one from the middle) at 100 and at 10,000 projects, through the
 * whole server in one process. Fails above a ratio of 1.3. With BERTH_TEST_POSTGRES_URL also on PostgreSQL.
 */

const [few, many] = [100, 10_000]
const allowed = 1.3
const page = 50
const rounds = 400

interface Bench {
  instance: TestInstance
  people: People
  middle: string
}

const kinds = process.env.BERTH_TEST_POSTGRES_URL ? ['sqlite', 'postgres'] : ['sqlite']
for (const kind of kinds) {
  process.env.BERTH_TEST_DATABASE = kind
  const benches = [await prepare(few), await prepare(many)] as const
  for (const location of ['first', 'middle'] as const) report(kind, location, await measure(benches, location))
  for (const { instance } of benches) await instance.stop()
}

async function prepare(count: number): Promise<Bench> {
  const instance = await startInstance()
  const people = await makePeople(instance)
  const { id } = await makeProject(instance, people.owner.token)
  const { db } = instance.database
  const sample = await db.selectFrom('projects').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  for (let at = 1; at < count; at += page) {
    const rows = Array.from({ length: Math.min(page, count - at) }, (_, index) => ({
      ...sample,
      id: newId('prj'),
      name: `Project ${at + index}`,
      slug: `project-${at + index}`,
      createdAt: sample.createdAt + at + index,
    }))
    await db.insertInto('projects').values(rows).execute()
    await db
      .insertInto('domains')
      .values(
        rows.map(({ id, organizationId, slug, createdAt }) => ({
          id: newId('dom'),
          projectId: id,
          organizationId,
          proofToken: slug,
          hostname: `${slug}.customer.test`,
          isPrimary: 1 as const,
          tls: 'none' as const,
          state: 'pending' as const,
          reason: null,
          createdAt,
        })),
      )
      .execute()
  }
  return { instance, people, middle: await middleCursor(instance, people, count) }
}

/** Pages to the middle of the list. */
async function middleCursor(instance: TestInstance, people: People, count: number): Promise<string> {
  let cursor = ''
  for (let seen = 0; seen < count / 2; seen += page) cursor = (await read(instance, people, cursor)).nextCursor as string
  return cursor
}

async function read(
  { app }: TestInstance,
  { viewer }: People,
  cursor: string,
): Promise<{ data: object[]; nextCursor: string | null }> {
  const response = await app.inject({
    url: `/api/projects?limit=${page}${cursor ? `&cursor=${cursor}` : ''}`,
    headers: { authorization: `Bearer ${viewer.token}` },
  })
  const body = response.json()
  if (response.statusCode !== 200 || body.data.length !== page)
    throw new Error(`${response.statusCode} ${response.body.slice(0, 200)}`)
  return body
}

/** Alternates, so that other load on the machine affects both; returns the median of each. */
async function measure(benches: readonly [Bench, Bench], location: 'first' | 'middle'): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    for (const [at, { instance, people, middle }] of benches.entries()) {
      const began = performance.now()
      await read(instance, people, location === 'first' ? '' : middle)
      // The first rounds compile code that the others only run.
      if (round >= rounds / 4) times[at as 0 | 1].push(performance.now() - began)
    }
  }
  return times.map((list) => list.sort((left, right) => left - right)[Math.floor(list.length / 2)]) as [number, number]
}

function report(kind: string, path: string, [atFew, atMany]: [number, number]): void {
  const ratio = atMany / atFew
  const ms = (value: number) => `${value.toFixed(2)} ms`
  console.log(
    `${kind}, ${path} page of ${page}: ${ms(atFew)} at ${few} projects, ${ms(atMany)} at ${many}, ratio ${ratio.toFixed(2)} (allowed ${allowed})`,
  )
  if (ratio > allowed) process.exitCode = 1
}
