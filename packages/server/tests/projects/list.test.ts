// gate: also on PostgreSQL, since upper and lower case, order and pages are the database’s own
import type { Project } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { SqliteFile } from '../../src/platform/db/sqlite-file.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

let instance: TestInstance
let people: People
beforeAll(async () => {
  instance = await startInstance()
})
beforeEach(async () => {
  people = await makePeople(instance)
})
afterAll(() => instance.stop())

const make = (name: string, body = {}) => makeProject(instance, people.owner.token, { name, ...body })
const list = (query = {}, token = people.viewer.token) => call(instance, token, 'GET /projects', { query })
const names = ({ body }: { body: { data: Project[] } }) => body.data.map(({ name }) => name)
const pause = () => new Promise((resolve) => setTimeout(resolve, 2))

async function readsOf(work: () => Promise<unknown>): Promise<string[]> {
  const run = vi.spyOn(SqliteFile.prototype, 'run')
  await work()
  const statements = run.mock.calls.map(([sql]) => sql)
  run.mockRestore()
  return statements.filter((sql) => !sql.startsWith('pragma'))
}

describe('GET /projects', () => {
  test('the organisation’s projects, newest first, and no others', async () => {
    const other = await makePeople(instance)
    await makeProject(instance, other.owner.token, { name: 'Foreign' })
    const made = []
    for (const name of ['one', 'two', 'three']) {
      made.unshift(await make(name))
      await pause()
    }
    const { status, body } = await list()
    expect([status, body.nextCursor]).toEqual([200, null])
    expect(body.data).toEqual(made)
  })

  test('a page continues where the previous one ended, also if projects are created and deleted in between', async () => {
    for (const name of ['one', 'two', 'three', 'four', 'five']) {
      await make(name)
      await pause()
    }
    const first = await list({ limit: 2 })
    expect(names(first)).toEqual(['five', 'four'])
    await make('six')
    const second = await list({ limit: 2, cursor: first.body.nextCursor })
    expect(names(second)).toEqual(['three', 'two'])
    const third = await list({ limit: 2, cursor: second.body.nextCursor })
    expect([names(third), third.body.nextCursor]).toEqual([['one'], null])
  })

  // PostgreSQL has other writers on other machines: it is read each time.
  test.skipIf(process.env.BERTH_TEST_DATABASE === 'postgres').each([{ limit: 200 }, { limit: 2 }])(
    'a repeated page %o is not read from the database again, and shows every change at once',
    async (query) => {
      const [, second] = [await make('one'), await make('two'), await make('three')]
      const before = await list(query)
      // A write of the instance in between causes one more read.
      await expect.poll(() => readsOf(() => list(query))).toEqual([])
      expect((await list(query)).body).toEqual(before.body)
      await call(instance, people.owner.token, 'PATCH /projects/:id', { params: { id: second.id }, body: { name: 'renamed' } })
      expect(names(await list(query))).toEqual(names(before).map((name) => (name === 'two' ? 'renamed' : name)))
      await call(instance, people.owner.token, 'POST /projects/:id/connect', {
        params: { id: second.id },
        body: { domain: `${second.slug}.customer.test` },
      })
      const shown = (await list(query)).body.data.find(({ id }: Project) => id === second.id)
      expect(JSON.stringify(shown.routes)).toContain(`${second.slug}.customer.test`)
    },
  )

  test('projects created in the same millisecond are each on exactly one page', async () => {
    const made = await Promise.all(Array.from({ length: 7 }, (_, at) => make(`p${at}`)))
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const { body } = await list({ limit: 2, ...(cursor ? { cursor } : {}) })
      seen.push(...body.data.map(({ id }: Project) => id))
      cursor = body.nextCursor
    } while (cursor)
    expect(seen.sort()).toEqual(made.map(({ id }) => id).sort())
  })

  test('q finds a part of the name or the slug without case; wildcard characters match literally', async () => {
    await make('Web Shop', { slug: `s-${Math.random().toString(36).slice(2)}-find-me` })
    await make('100 % Öl')
    await make('snake_case')
    expect(names(await list({ q: 'SHOP' }))).toEqual(['Web Shop'])
    expect(names(await list({ q: 'find-me' }))).toEqual(['Web Shop'])
    expect(names(await list({ q: '%' }))).toEqual(['100 % Öl'])
    expect(names(await list({ q: '_' }))).toEqual(['snake_case'])
    expect(names(await list({ q: 'Öl' }))).toEqual(['100 % Öl'])
    expect(names(await list({ q: '\\' }))).toEqual([])
    expect(names(await list({ q: "' or 1=1 --" }))).toEqual([])
  })

  test.each([
    ['limit', 0],
    ['limit', 501],
    ['limit', 'many'],
    ['cursor', 'nonsense'],
    ['q', 'x'.repeat(101)],
    ['q', 'a\0b'],
  ])('400 names %s=%s', async (name, value) => {
    const { status, body } = await list({ [name]: value })
    expect([status, body.field]).toEqual([400, name])
  })

  test('a token limited to projects lists only those', async () => {
    const [one] = [await make('one'), await make('two')]
    const limited = await makeToken(instance, people.owner, { projectIds: [one.id, 'prj_nowhere'] })
    expect(names(await list({}, limited))).toEqual(['one'])
    expect(names(await list({}, await makeToken(instance, people.owner, { projectIds: [] })))).toEqual([])
    const home = await call(instance, limited, 'GET /projects/home')
    expect(names(home)).toEqual(['one'])
  })
})

describe('GET /projects/home', () => {
  test('lists the local projects without a link, and says that no cloud is linked', async () => {
    const made = [await make('one'), await make('two')]
    const { status, body } = await call(instance, people.viewer.token, 'GET /projects/home')
    expect([status, body.cloud]).toEqual([200, { linked: false, reachable: false }])
    expect(body.data.map(({ id }: Project) => id).sort()).toEqual(made.map(({ id }) => id).sort())
    expect(body.data.every(({ location }: Project) => location === 'local')).toBe(true)
  })

  test('merges local and cloud projects; while the cloud is unreachable it lists the local ones', async () => {
    let reachable = true
    const inCloud: Project[] = []
    const linked = await startInstance(
      {},
      {
        projectPorts: {
          cloud: {
            list: async () => ({ linked: true, reachable, projects: reachable ? inCloud : [] }),
          },
        },
      },
    )
    const { owner } = await makePeople(linked)
    const local = await makeProject(linked, owner.token)
    inCloud.push({ ...local, id: 'prj_incloud', location: 'cloud' })
    const home = async () => (await call(linked, owner.token, 'GET /projects/home')).body
    expect((await home()).data.map(({ id, location }: Project) => [id, location])).toEqual([
      [local.id, 'local'],
      ['prj_incloud', 'cloud'],
    ])
    reachable = false
    expect(await home()).toMatchObject({ data: [{ id: local.id }], cloud: { linked: true, reachable: false } })
    await linked.stop()
  })
})
