import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { cliFixture } from '../cli-fixture.ts'

test('the body is an argument or --data, but not both, and must be JSON', async () => {
  await using cli = await cliFixture()
  for (const args of [['{"a":1}'], ['--data', '{"a":1}'], ['-d', '{"a":1}']])
    expect(await cli.berth('api', 'post', '/projects', ...args)).toMatchObject({ code: 0 })
  expect(cli.requests.map(({ method, path, body }) => ({ method, path, body }))).toEqual(
    Array.from({ length: 3 }, () => ({ method: 'POST', path: '/projects', body: { a: 1 } })),
  )
  expect(await cli.berth('api', 'POST', '/projects', '{}', '-d', '{}')).toMatchObject({ code: 2 })
  expect(await cli.berth('api', 'POST', '/projects', '{a')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('The body is not valid JSON'),
  })
  expect(cli.requests).toHaveLength(3)
})

test('the request names the organisation of BERTH_ORGANIZATION', async () => {
  await using cli = await cliFixture()
  vi.stubEnv('BERTH_ORGANIZATION', 'org_1')
  await cli.berth('api', 'GET', 'api/projects')
  expect(cli.requests[0]).toMatchObject({ path: '/projects', headers: { 'x-organization-id': 'org_1' } })
})

test('an address that does not exist is named; a message of the server is kept', async () => {
  await using cli = await cliFixture(({ path }) => ({
    status: 404,
    body: { code: 'not_found', error: path === '/projects/prj_1' ? 'Not found' : 'Service db does not exist' },
  }))
  expect(await cli.berth('api', 'get', '/projects/prj_1')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('Not found: GET /api/projects/prj_1'),
  })
  expect((await cli.berth('api', 'GET', '/other')).stderr).toContain('error: Service db does not exist')
})

test('every berth api command of the docs works as it is written', async () => {
  await using cli = await cliFixture()
  const docs = join(import.meta.dirname, '..', '..', '..', '..', 'docs')
  const pages = readdirSync(docs).filter((name) => name.endsWith('.md'))
  const commands = pages.flatMap((name) =>
    [...readFileSync(join(docs, name), 'utf8').matchAll(/^ *(?:\$ )?(berth api [A-Z]{3,} .+)$/gm)].map(([, command]) => command!),
  )
  expect(commands.length).toBeGreaterThan(5)
  for (const command of commands) {
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
    expect([command, await cli.berth(...words.slice(1))]).toMatchObject([command, { code: 0 }])
  }
  expect(cli.requests).toHaveLength(commands.length)
  expect(cli.requests.map(({ body }) => body)).toContainEqual(expect.objectContaining({ cronExpression: '0 3 * * *' }))
})
