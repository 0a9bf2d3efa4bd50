import { Readable } from 'node:stream'
import { afterEach, expect, test, vi } from 'vitest'
import { cliFixture } from '../../cli-fixture.ts'

const github = {
  ...{ provider: 'github', url: 'https://github.com', kind: 'app', origin: 'stored', appSlug: 'berth-example', clientId: 'Iv1' },
  ...{ connectedOrganizations: 1, problems: ['GitHub cannot reach this instance'] },
}
const gitea = {
  ...{ provider: 'gitea', url: 'https://gitea.com', kind: null, origin: 'none', appSlug: null, clientId: null },
  ...{ connectedOrganizations: 0, problems: ['not shown without an application'] },
}
const pipe = (text: string) => vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from([text]) as never)

afterEach(() => vi.restoreAllMocks())

test('berth git apps lists the application of each host, and notes the problems of existing ones', async () => {
  await using cli = await cliFixture(() => ({ body: { data: [github, gitea] } }))
  const { code, stdout, stderr } = await cli.berth('git', 'apps', 'list')
  expect([code, stderr]).toEqual([0, 'GitHub cannot reach this instance\n'])
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['HOST', 'ADDRESS', 'APPLICATION', 'SET BY', 'ORGANISATIONS'],
    ['github', 'https://github.com', 'app berth-example', 'dashboard', '1'],
    ['gitea', 'https://gitea.com', '-', '-', '0'],
    [''],
  ])
  expect((await cli.berth('git', 'apps')).stdout).toBe(stdout)
})

test('set reads the secret from standard input only, and names the next step', async () => {
  await using cli = await cliFixture(() => ({ body: { data: { ...gitea, clientId: '5f0c', url: 'https://git.test' } } }))
  const words = ['git', 'apps', 'set', 'gitea', '--host-url', 'https://git.test', '--client-id', '5f0c']
  expect(await cli.berth(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining('--client-secret-stdin') })
  expect(await cli.berth('git', 'apps', 'set', 'bitbucket', '--client-id', 'x', '--client-secret-stdin')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('github, gitlab, gitea'),
  })
  expect(cli.requests).toEqual([])
  pipe('s3cr3t\n')
  const { code, stdout } = await cli.berth(...words, '--client-secret-stdin')
  expect([code, stdout]).toEqual([
    0,
    'stored the application 5f0c at https://git.test; connect with: berth git connect --provider gitea\n',
  ])
  expect(cli.requests).toMatchObject([
    {
      method: 'PUT',
      path: '/gitprovider/applications/gitea',
      body: { clientId: '5f0c', clientSecret: 's3cr3t', url: 'https://git.test' },
    },
  ])
})

test('remove names the host whose connections have ended', async () => {
  await using cli = await cliFixture(() => ({ status: 204, body: undefined }))
  expect(await cli.berth('git', 'apps', 'remove', 'gitea')).toMatchObject({
    code: 0,
    stdout: 'removed the application of gitea; its connections have ended\n',
  })
  expect(cli.requests).toMatchObject([{ method: 'DELETE', path: '/gitprovider/applications/gitea' }])
})
