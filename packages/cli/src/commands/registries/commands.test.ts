import { Readable } from 'node:stream'
import { afterEach, expect, test, vi } from 'vitest'
import { cliFixture } from '../../cli-fixture.ts'

const login = { id: `reg_${'a'.repeat(20)}`, host: 'ghcr.io', username: 'acme', updatedAt: '2026-01-31T08:00:00.000Z' }

afterEach(() => vi.restoreAllMocks())

test('berth registries add reads the password from standard input only', async () => {
  await using cli = await cliFixture(() => ({ status: 201, body: { data: login } }))
  const words = ['registries', 'add', 'ghcr.io', '--username', 'acme']
  expect(await cli.berth(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining('--password-stdin') })
  expect(cli.requests).toEqual([])
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from(['t0ken\n']) as never)
  expect(await cli.berth('registries', 'add', 'ghcr.io', '--username', 'acme', '--password-stdin')).toMatchObject({
    code: 0,
    stdout: `saved the login of acme for ghcr.io (${login.id})\n`,
  })
  expect(cli.requests).toMatchObject([{ method: 'POST', body: { host: 'ghcr.io', username: 'acme', password: 't0ken' } }])
})

test('list and remove name a login by its host or id', async () => {
  await using cli = await cliFixture(({ method }) => (method === 'GET' ? { body: { data: [login] } } : { status: 204 }))
  expect((await cli.berth('registries', 'list')).stdout).toMatch(/ghcr\.io +acme/)
  expect(await cli.berth('registries', 'remove', 'GHCR.io')).toMatchObject({
    code: 0,
    stdout: `removed the login for ghcr.io (${login.id})\n`,
  })
  expect(cli.requests.at(-1)).toMatchObject({ method: 'DELETE', path: `/registries/${login.id}` })
  expect(await cli.berth('registries', 'remove', 'docker.io')).toMatchObject({ code: 2 })
})
