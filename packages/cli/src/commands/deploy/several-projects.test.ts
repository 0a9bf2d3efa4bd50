import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { cliFixture, type RecordedRequest } from '../../cli-fixture.ts'
import { readLink } from '../../project-link.ts'

const web = { name: 'web', rootDirectory: 'apps/web', port: 3001 }
const api = { name: 'api', rootDirectory: 'apps/api', startCommand: 'node api.js' }

/** An instance that creates projects and deploys them at once. */
async function workspaceFixture(content: unknown = { projects: [web, api] }, scan: object = { apps: [], type: 'app' }) {
  const cli = await cliFixture(({ path, body }: RecordedRequest) => {
    if (path === '/projects/folder/session')
      return {
        body: { data: { sessionId: 'upl_1', upload: { url: 'http://x.test/api/projects/folder/upload/upl_1', method: 'POST' } } },
      }
    if (path === '/projects/folder/scan/upl_1') return { body: { data: { name: 'whole', framework: 'turborepo', ...scan } } }
    if (path === '/projects/ensure') {
      const { name } = body as { name: string }
      return { body: { data: { id: `prj_${name}`, name } } }
    }
    return path.startsWith('/projects/build') || path.startsWith('/build')
      ? { status: 400, body: { code: 'x', error: 'enough' } }
      : {}
  })
  for (const { rootDirectory } of [web, api]) mkdirSync(join(cli.folder, rootDirectory, 'src'), { recursive: true })
  writeFileSync(join(cli.folder, 'berth.json'), JSON.stringify(content))
  return cli
}

test.each([
  [{ projects: [web, { ...api, name: 'web' }] }, 'projects.1.name "web" is a duplicate'],
  [{ projects: [web, { ...api, rootDirectory: './apps/web/' }] }, 'projects.1.rootDirectory "apps/web" is a duplicate'],
  [{ projects: [{ name: 'web' }] }, 'projects.0.rootDirectory is required'],
  [{ projects: [{ rootDirectory: 'a' }] }, 'projects.0.name is required'],
  [{ projects: [{ ...web, rootDirectory: '../x' }] }, 'projects.0.rootDirectory must'],
  [{ projects: [{ ...web, rootDirectory: '/x' }] }, 'projects.0.rootDirectory must'],
  [{ projects: [{ ...web, port: 'x' }] }, 'projects.0.port must be integer'],
  [{ projects: [{ ...web, prot: 1 }] }, 'unknown setting prot of project "web"'],
  [{ projects: [web], port: 3000 }, 'unknown setting port beside projects'],
  [{ projects: [] }, 'projects must'],
  [{ projects: 'web' }, 'projects must be array'],
])('a wrong list of projects is an error before anything is sent: %j', async (content, message) => {
  await using cli = await workspaceFixture(content)
  expect(await cli.berth('deploy', '--all')).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  expect(cli.requests).toEqual([])
})

test.each([
  [[], 'berth.json has the projects web, api. Name one with --project, or deploy all of them with --all.'],
  [['--project', 'shop'], 'berth.json has the projects web, api, and none is named shop.'],
  [['--project', 'web', '--all'], 'Use either --all or --project'],
  [['--all', '--port', '80'], 'Set options for one project with --project'],
  [['--name', 'x', '--project', 'web'], '--name has no effect here'],
])('berth deploy %j in the folder of the file is refused', async (args, message) => {
  await using cli = await workspaceFixture()
  expect(await cli.berth('deploy', ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  expect(cli.requests).toEqual([])
})

test('--all without such a file is refused', async () => {
  await using cli = await workspaceFixture({ port: 3000 })
  expect(await cli.berth('deploy', '--all')).toMatchObject({ code: 2, stderr: expect.stringContaining('there is none here') })
})

test.each([
  ['the folder of a project', 'apps/web/src', [], 'web'],
  ['the option', '.', ['--project', 'api'], 'api'],
])(
  '%s chooses the project: the whole repository is uploaded, and the link is in the folder of the app',
  async (_name, at, args, name) => {
    await using cli = await workspaceFixture()
    vi.spyOn(process, 'cwd').mockReturnValue(join(cli.folder, at))
    await cli.berth('deploy', ...args)
    const body = (end: string) => cli.requests.find(({ path }) => path.endsWith(end))?.body
    expect(body('/projects/ensure')).toEqual({ name, gitProvider: 'upload', uploadSessionId: 'upl_1' })
    expect(body(`/projects/prj_${name}`)).toEqual(name === 'web' ? web : api)
    expect(readLink(join(cli.folder, 'apps', name))).toMatchObject({ projectId: `prj_${name}` })
    expect(readLink(cli.folder)).toBeNull()
  },
)

test('a folder with several apps and no root directory lists them and names the option', async () => {
  const apps = [
    { name: 'web', path: 'apps/web', framework: 'nextjs' },
    { name: 'api', path: 'apps/api', framework: null },
  ]
  await using cli = await workspaceFixture({}, { apps, type: 'app', startCommand: null })
  const { code, stderr } = await cli.berth('deploy')
  expect(code).toBe(2)
  expect(stderr).toContain(
    '  apps/web (nextjs)\n  apps/api\nChoose one with --root-directory, for example --root-directory apps/web',
  )
  expect(cli.requests.some(({ path }) => path === '/projects/ensure')).toBe(false)
})
