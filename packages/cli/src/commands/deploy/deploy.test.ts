import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import { cliFixture } from '../../cli-fixture.ts'
import { writeLink } from '../../project-link.ts'

test.each([
  [{ port: '8080' }, 'berth.json: port must be integer or null'],
  [{ port: 99_999 }, 'berth.json: port must be <= 65535'],
  [{ type: 'application' }, 'berth.json: type must be one of app, static, worker, services'],
  [{ healthCheck: { path: 'healthz' } }, 'berth.json: healthCheck.path must begin with /'],
  [{ resources: { production: { memoryMb: 1 } } }, 'berth.json: resources.production.memoryMb must be >= 64'],
  [{ resources: { staging: {} } }, 'berth.json: resources.staging is unknown'],
  [{ volumes: [{ name: 'data' }] }, 'berth.json: volumes.0.mountPath is required'],
  [{ prot: 3000 }, 'berth.json: unknown setting prot'],
])('a wrong value in berth.json is an error before anything is sent: %j', async (content, message) => {
  await using cli = await cliFixture()
  writeFileSync(join(cli.folder, 'berth.json'), JSON.stringify(content))
  expect(await cli.berth('deploy', cli.folder)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  expect(cli.requests).toEqual([])
})

test.each([
  [['--port', 'http'], '--port must be integer'],
  [['--type', 'application'], '--type must be one of'],
  [['--health-path', 'x'], '--health-path must begin with /'],
  [['--compose-profiles', '-x'], '--compose-profiles must be'],
  [['--volume', 'data'], '--volume data is not a name and a path. Write it as name:/path'],
  [['--volume', 'data:/'], '--volume data:/: no volume can be mounted at /. Set another path, for example data:/data.'],
  [['--volume', 'data:data'], '--volume must'],
  [['--volume', 'data:/a/../b'], '--volume must'],
  [['--volume', 'data:/a\nb'], '--volume must'],
  [['--volume', `data:/${'a'.repeat(300)}`], '--volume must'],
])('a wrong value of an option is an error before anything is sent: %j', async (args, message) => {
  await using cli = await cliFixture()
  expect(await cli.berth('deploy', cli.folder, ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  expect(cli.requests).toEqual([])
})

test('berth deploy --name in a folder that is linked is refused, and nothing is sent', async () => {
  await using cli = await cliFixture()
  writeLink(cli.folder, { projectId: 'prj_linked', url: cli.url })
  expect(await cli.berth('deploy', cli.folder, '--name', 'other')).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(/is already linked to project prj_linked\. Omit --name.*run berth unlink/),
  })
  const inside = join(cli.folder, 'inside')
  mkdirSync(inside)
  vi.spyOn(process, 'cwd').mockReturnValue(inside)
  expect((await cli.berth('deploy', '--name', 'other')).stderr).toContain('name the folder: berth deploy . --name other')
  const project = `prj_${'a'.repeat(20)}`
  expect(await cli.berth('deploy', '--name', 'other', '--project', project)).toMatchObject({ code: 2 })
  expect(cli.requests).toEqual([])
})

test.each([
  ['the volumes of the project', undefined, [{ name: 'logs', mountPath: '/logs' }]],
  ['the volumes of berth.json', { volumes: [{ name: 'logs', mountPath: '/file' }] }, [{ name: 'logs', mountPath: '/file' }]],
])('--volume adds volumes to %s, and replaces one of the same name', async (_name, file, kept) => {
  const volumes = [
    { name: 'logs', mountPath: '/logs' },
    { name: 'data', mountPath: '/old' },
  ]
  await using cli = await cliFixture(({ path, method }) => {
    if (path === '/projects/prj_linked' && method === 'GET') return { body: { data: { config: { volumes, image: 'nginx' } } } }
    return path === '/projects/build/deploy' ? { status: 400, body: { code: 'source_unreadable', error: 'enough' } } : {}
  })
  writeLink(cli.folder, { projectId: 'prj_linked', url: cli.url })
  if (file) writeFileSync(join(cli.folder, 'berth.json'), JSON.stringify(file))
  await cli.berth('deploy', cli.folder, '--volume', 'data:/app/data', '--volume', 'more:/more')
  expect(cli.requests.find(({ method }) => method === 'PATCH')?.body).toEqual({
    volumes: [...kept, { name: 'data', mountPath: '/app/data' }, { name: 'more', mountPath: '/more' }],
  })
})

test.each([
  ['', null],
  ['/up', { path: '/up' }],
])('--health-path %j sets the health check %j', async (path, healthCheck) => {
  await using cli = await cliFixture(({ path: at, method }) => {
    if (at === '/projects/prj_linked' && method === 'GET') return { body: { data: { config: { image: 'nginx' } } } }
    return at === '/projects/build/deploy' ? { status: 400, body: { code: 'source_unreadable', error: 'enough' } } : {}
  })
  writeLink(cli.folder, { projectId: 'prj_linked', url: cli.url })
  writeFileSync(join(cli.folder, 'berth.json'), JSON.stringify({ healthCheck: { path: '/file' } }))
  await cli.berth('deploy', cli.folder, '--health-path', path)
  expect(cli.requests.find(({ method }) => method === 'PATCH')?.body).toEqual({ healthCheck })
})

test('berth deploy in a subfolder names the linked folder that it deploys', async () => {
  await using cli = await cliFixture(() => ({ status: 400, body: { code: 'x', error: 'enough' } }))
  writeLink(cli.folder, { projectId: 'prj_linked', url: cli.url })
  const inside = join(cli.folder, 'inside')
  mkdirSync(inside)
  const cwd = vi.spyOn(process, 'cwd').mockReturnValue(inside)
  const message = `deploying ${cli.folder}, which is linked to the project`
  expect((await cli.berth('deploy')).stderr).toContain(message)
  cwd.mockReturnValue(cli.folder)
  expect((await cli.berth('deploy')).stderr).not.toContain(message)
})

/** An instance that accepts an upload and refuses the next request; `has` returns whether the upload contained a file. */
async function uploading() {
  let uploaded = ''
  const cli = await cliFixture(({ path, bytes }) => {
    if (path === '/projects/folder/session')
      return {
        body: { data: { sessionId: 'upl_1', upload: { url: 'http://x.test/api/projects/folder/upload/upl_1', method: 'POST' } } },
      }
    if (path === '/projects/folder/upload/upl_1') uploaded = gunzipSync(bytes).toString('latin1')
    return path === '/projects/folder/scan/upl_1' ? { status: 400, body: { code: 'source_unreadable', error: 'enough' } } : {}
  })
  for (const name of ['.env', '.env.local', '.env.example', 'index.html'])
    writeFileSync(join(cli.folder, name), `content of ${name};`)
  return { cli, has: (name: string) => uploaded.includes(`content of ${name};`) }
}

test('.env files are not uploaded; one warning names them and the option', async () => {
  const { cli, has } = await uploading()
  await using _cli = cli
  const { stderr } = await cli.berth('deploy', cli.folder)
  expect(['.env', '.env.local', '.env.example', 'index.html'].filter(has)).toEqual(['.env.example', 'index.html'])
  expect(stderr.match(/^warning: .*$/gm)).toEqual([
    'warning: Not uploaded: .env, .env.local. Set the variables with berth env push, or upload .env files with --include-env-files.',
  ])
})

test('with --include-env-files they are uploaded, also if .gitignore excludes them', async () => {
  const { cli, has } = await uploading()
  await using _cli = cli
  writeFileSync(join(cli.folder, '.gitignore'), '.env*\n')
  expect((await cli.berth('deploy', cli.folder, '--include-env-files')).stderr).not.toContain('Not uploaded')
  expect(['.env', '.env.local', 'index.html'].filter(has)).toEqual(['.env', '.env.local', 'index.html'])
})

test('files that .gitignore excludes are not reported, and a line of .berthignore includes one', async () => {
  const { cli, has } = await uploading()
  await using _cli = cli
  writeFileSync(join(cli.folder, '.gitignore'), '.env.local\n')
  writeFileSync(join(cli.folder, '.berthignore'), '!.env\n')
  expect((await cli.berth('deploy', cli.folder)).stderr).not.toContain('Not uploaded')
  expect(['.env', '.env.local'].filter(has)).toEqual(['.env'])
})
