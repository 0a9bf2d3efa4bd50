import { afterAll, beforeAll, expect, test } from 'vitest'
import { tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'

let instance: TestInstance
let people: People
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
})
afterAll(() => instance.stop())

const request = async (at: `POST /${string}` | `PATCH /${string}` | `GET /${string}`, body?: object, params = {}) => {
  const answer = await call(instance, people.member.token, at, { params, ...(body ? { body } : {}) })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

/** Steps 1 to 3 of the folder flow. */
async function scanned(manifest: object) {
  const { sessionId } = (await request('POST /projects/folder/session', {})).data
  const payload = tarball(
    { name: 'package.json', content: JSON.stringify(manifest) },
    { name: 'index.js', content: 'app.listen(3000)' },
  )
  const headers = { authorization: `Bearer ${people.member.token}`, 'content-type': 'application/gzip' }
  const sent = await instance.app.inject({ method: 'POST', url: `/api/projects/folder/upload/${sessionId}`, headers, payload })
  expect(sent.statusCode).toBe(200)
  return (await request('POST /projects/folder/scan/:sessionId', undefined, { sessionId })).data
}

const first = { name: 'shop', dependencies: { express: '5' }, scripts: { build: 'tsc', start: 'node index.js' } }
const second = { name: 'store', dependencies: { fastify: '5' }, scripts: { start: 'node index.js' } }

const read = async (id: string) => {
  const { name, type, config, source } = (await request('GET /projects/:id', undefined, { id })).data
  return { name, type, source: source.kind, ...config }
}

const choices: [field: string, value: unknown][] = [
  ['name', 'The shop'],
  ['buildCommand', 'make'],
  ['startCommand', 'node server.js'],
  ['installCommand', 'npm ci --omit=dev'],
  ['packageManager', 'yarn'],
  ['framework', 'koa'],
  ['outputDirectory', 'out'],
  ['port', 8123],
  ['type', 'worker'],
  ['services', [{ name: 'web', image: 'nginx' }]],
]

test.each(choices)('a scan sent to ensure keeps the %s that a user set', async (field, value) => {
  const { id } = (await request('POST /projects/ensure', await scanned(first))).data
  await request('PATCH /projects/:id', { [field]: value }, { id })
  const again = await scanned(second)
  const { warnings = [] } = await request('POST /projects/ensure', { ...again, projectId: id })
  const after = await read(id)
  expect(after[field]).toEqual(field === 'services' ? [expect.objectContaining({ name: 'web', image: 'nginx' })] : value)
  // Every other field follows the scan.
  for (const other of ['name', 'framework', 'buildCommand', 'startCommand'] as const)
    if (other !== field) expect({ [other]: after[other] }).toEqual({ [other]: again[other] })
  const isNamed = warnings.some((warning: string) => warning.startsWith(`${field}: `))
  expect({ warnings, isNamed }).toMatchObject({ isNamed: field !== 'services' })
})

test('a value that differs from the scan replaces the setting, and a project without settings follows the scan without a warning', async () => {
  const { id } = (await request('POST /projects/ensure', await scanned(first))).data
  await request('PATCH /projects/:id', { buildCommand: 'make' }, { id })
  await request('POST /projects/ensure', { ...(await scanned(second)), buildCommand: 'just build', port: 4001, projectId: id })
  expect(await read(id)).toMatchObject({ name: 'store', buildCommand: 'just build', port: 4001, framework: 'fastify' })

  const other = (await request('POST /projects/ensure', await scanned(first))).data
  const answer = await request('POST /projects/ensure', { ...(await scanned(second)), projectId: other.id })
  expect([answer.warnings, await read(other.id)]).toMatchObject([undefined, { name: 'store', framework: 'fastify' }])
})
