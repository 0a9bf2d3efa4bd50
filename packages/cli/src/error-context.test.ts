import { expect, test, vi } from 'vitest'
import { cliFixture } from './cli-fixture.ts'
import { saveToken } from './credentials.ts'
import { writeLink } from './project-link.ts'

const refuse = (status: number, code: string, error: string) => cliFixture(() => ({ status, body: { code, error } }))

const project = `prj_${'a'.repeat(20)}`

test.each([
  [['status', '--project', project], `Project ${project} does not exist. List projects with berth list.`],
  [['backups', 'protect', 'bkr_1'], 'Backup run bkr_1 does not exist.'],
  [['backups', 'watch', 'bkr_1'], 'Backup run bkr_1 does not exist.'],
  [
    ['domains', 'primary', 'shop.example.com', '--project', project],
    'The project has no domain shop.example.com. List its domains with berth domains.',
  ],
  [['token', 'revoke', 'tok_1'], 'Token tok_1 does not exist.'],
])('berth %s: a missing object is named', async (args, message) => {
  await using cli = await refuse(404, 'not_found', 'Not found')
  expect(await cli.berth(...args)).toMatchObject({ code: 5, stderr: `error: ${message}\n` })
})

test('a message of the server that already names the object is kept', async () => {
  await using cli = await refuse(404, 'not_found', 'Environment staging does not exist')
  expect((await cli.berth('status', '--project', project)).stderr).toBe('error: Environment staging does not exist\n')
})

test('a refused token is named by its source: the variable, or the file of berth login', async () => {
  await using cli = await refuse(401, 'unauthorized', 'Sign in')
  for (const args of [['list'], ['api', 'GET', '/projects']])
    expect(await cli.berth(...args)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/refused the token from the variable BERTH_TOKEN\. Set it to a valid token, or unset it/),
    })
  const file = saveToken(cli.url, 'brt_saved')
  vi.stubEnv('BERTH_TOKEN', undefined)
  const { stderr } = await cli.berth('list')
  expect(stderr).toBe(`error: ${cli.url} refused the token from ${file}. Sign in again with: berth login\n`)
})

test('an unreachable instance is 7 with and without a token; a reachable one without a token is 3', async () => {
  await using cli = await cliFixture()
  for (const token of ['brt_test', undefined]) {
    vi.stubEnv('BERTH_TOKEN', token)
    for (const args of [['list'], ['api', 'GET', '/projects']])
      expect(await cli.berth(...args, '--url', 'http://127.0.0.1:9')).toMatchObject({
        code: 7,
        stderr: expect.stringContaining('The instance at http://127.0.0.1:9 is unreachable'),
      })
  }
  expect(await cli.berth('list')).toMatchObject({ code: 3, stderr: expect.stringContaining('You are not signed in') })
  writeLink(cli.folder, { projectId: 'prj_linked', url: 'http://127.0.0.1:9' })
  vi.stubEnv('BERTH_URL', undefined)
  expect((await cli.berth('status')).stderr).toContain('This folder is linked to a project there')
})
