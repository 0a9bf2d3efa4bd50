import type { DeletionItem, Project } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TarEntry, tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { type CallInput, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'

let instance: TestInstance
let people: People
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
})
afterAll(() => instance.stop())

const as = (at: Parameters<typeof call>[2], input: CallInput = {}) => call(instance, people.admin.token, at, input)
const page: TarEntry = { name: 'index.html', content: '<h1>Hello</h1>' }
const server: TarEntry = { name: 'package.json', content: JSON.stringify({ dependencies: { express: '5' } }) }
const named: TarEntry = { name: 'package.json', content: JSON.stringify({ name: 'shop', dependencies: { express: '5' } }) }

async function uploaded(file: TarEntry, hints: object = {}): Promise<string> {
  const { sessionId } = (await as('POST /projects/folder/session', { body: hints })).body.data
  const headers = { authorization: `Bearer ${people.admin.token}`, 'content-type': 'application/gzip' }
  const url = `/api/projects/folder/upload/${sessionId}`
  expect((await instance.app.inject({ method: 'POST', url, headers, payload: tarball(file) })).statusCode).toBe(200)
  return sessionId
}
const scanOf = async (sessionId: string) =>
  (await as('POST /projects/folder/scan/:sessionId', { params: { sessionId } })).body.data
const scanned = async (file: TarEntry, hints: object = {}) => scanOf(await uploaded(file, hints))

describe('a folder without a package name', () => {
  test.each([
    ['site', page, {}],
    ['app', server, {}],
    ['my page', page, { name: ' my\u001b page ' }],
  ] as const)('the scan is a complete body of ensure and of create: the name is %s', async (name, file, hints) => {
    const scan = await scanned(file, hints)
    expect(scan.name).toBe(name === 'my page' ? name : null)
    for (const at of ['POST /projects/ensure', 'POST /projects'] as const) {
      const { status, body } = await as(at, { body: { ...scan, name: null } })
      expect([status, body.data?.name, body.data?.source.kind], JSON.stringify(body)).toEqual([201, name, 'upload'])
      expect(body.data.slug).toMatch(new RegExp(`^${name.replace(' ', '-')}(-\\d)?$`))
    }
  })

  test('an upload that was not scanned names the project when ensure gets no name', async () => {
    const { status, body } = await as('POST /projects/ensure', { body: { uploadSessionId: await uploaded(named) } })
    expect([status, body.data.name]).toEqual([201, 'shop'])
  })

  test('the next scan of the project keeps a chosen name, and gives its name to an automatic one', async () => {
    const { id } = (await as('POST /projects/ensure', { body: await scanned(page) })).body.data as Project
    const again = async (file: TarEntry) => {
      const { status, body } = await as('POST /projects/ensure', { body: { ...(await scanned(file)), projectId: id } })
      return [status, body.data.name, (body.warnings ?? []).filter((text: string) => text.startsWith('name:')).length]
    }
    expect(await again(page)).toEqual([200, 'site', 0])
    expect(await again(named)).toEqual([200, 'shop', 0])
    await as('PATCH /projects/:id', { params: { id }, body: { name: 'Chosen' } })
    expect(await again(page)).toEqual([200, 'Chosen', 0])
    expect(await again(named)).toEqual([200, 'Chosen', 1])
  })
})

describe('two projects with one upload', () => {
  test('deleting the first keeps the upload and reports the reason; deleting the second removes it', async () => {
    const scan = await scanned(page)
    const made = async () => (await as('POST /projects/ensure', { body: scan })).body.data.id as string
    const deletionOf = async (id: string) => {
      const only = (items: DeletionItem[]) =>
        items.filter(({ kind }) => kind === 'upload').map(({ id: of, reason }) => [of, reason])
      const { items } = (await as('GET /projects/:id/deletion-preview', { params: { id } })).body.data
      const { removed, kept } = (await as('DELETE /projects/:id', { params: { id } })).body.data
      const isKept = (item: DeletionItem) => item.kept
      expect(only(items.filter(isKept))).toEqual(only(kept))
      return { removed: only(removed), kept: only(kept) }
    }
    const [first, second] = [await made(), await made()]
    const upload = scan.uploadSessionId
    expect(await deletionOf(first)).toEqual({ removed: [], kept: [[upload, expect.stringContaining('Another project')]] })
    expect(await deletionOf(second)).toEqual({ removed: [[upload, undefined]], kept: [] })
  })
})
