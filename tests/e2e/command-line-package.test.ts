import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ActionRun, runAction } from '../kit/composite-action.ts'
import { type Hosting, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { type TempFolder, tempFolder } from '../kit/temp-folder.ts'

const clone = join(import.meta.dirname, '..', '..')
const action = join(clone, 'deploy-action', 'action.yml')
const run = promisify(execFile)

describe('the command line as a package of its own', () => {
  let folder: TempFolder
  let file: string
  let env: Record<string, string>
  beforeAll(async () => {
    folder = await tempFolder('command-line')
    // Another test may pack at the same time, so the file is copied as soon as it exists.
    await run(process.execPath, [join(clone, 'scripts', 'pack.mjs')], { cwd: clone })
    const { version } = JSON.parse(await readFile(join(clone, 'packages', 'server', 'package.json'), 'utf8'))
    file = join(folder.path, 'berth-cli.tgz')
    await cp(join(clone, 'dist', `berth-cli-${version}.tgz`), file)
    // `offline`: a request to the registry fails. `omit`: the optional dependency is the Node that this test runs on.
    env = {
      PATH: [dirname(process.execPath), process.env.PATH].join(':'),
      HOME: folder.path,
      npm_config_offline: 'true',
      npm_config_omit: 'optional',
    }
  }, 120_000)
  afterAll(() => folder?.[Symbol.asyncDispose]())

  test('is small, has no server, and says what to install where one is needed', async () => {
    const prefix = join(folder.path, 'prefix')
    await run('npm', ['install', '-g', '--prefix', prefix, '--no-audit', '--no-fund', file], { cwd: folder.path, env })
    const installed = join(prefix, 'lib', 'node_modules', '@berthhost', 'berth-cli')
    expect((await stat(file)).size).toBeLessThan(1_000_000)
    expect(await readdir(join(installed, 'packages'))).toEqual(['cli'])
    const berth = join(prefix, 'bin', 'berth')
    expect((await run(berth, ['--help'], { cwd: folder.path, env })).stdout).toContain('deploy')
    const up = await run(berth, ['up'], { cwd: folder.path, env }).catch((error) => error)
    expect(up).toMatchObject({ code: 1, stderr: expect.stringContaining('npm install -g @berthhost/berth.') })
  })

  describe('the GitHub Action', () => {
    let hosting: Hosting
    let projectId: string
    beforeAll(async () => {
      hosting = await startHosting()
      projectId = (await hosting.makeProject({ name: 'Shop' })).id
    }, 60_000)
    afterAll(() => hosting?.[Symbol.asyncDispose]())

    /** Creates the token that docs/ci.md describes. */
    const createToken = async (): Promise<string> => {
      const scopes = ['project:list', 'project:read', 'project:write']
      return (await hosting.api('POST', '/tokens', { name: 'ci', scopes, projectIds: [projectId] })).body.data.token
    }
    let runs = 0
    const act = async (source: string, inputs: Record<string, string>): Promise<ActionRun> => {
      const workspace = join(folder.path, `workspace-${++runs}`)
      await mkdir(workspace)
      await writeApp(join(workspace, 'app'), source)
      const given = { url: hosting.berth.url, project: 'shop', folder: 'app', package: file, ...inputs }
      return runAction(action, given, { workspace, temp: join(folder.path, `runner-${runs}`), env })
    }
    const page = async () => (await hosting.get('shop.localhost')).text

    test('deploys the checkout with a token of one project and three permissions, and returns the address', async () => {
      const { code, log, outputs } = await act(serving('from the action'), { token: await createToken() })
      expect({ code, log }).toEqual({ code: 0, log: expect.stringContaining('live at') })
      expect(outputs.url).toContain('shop.localhost')
      expect(await page()).toBe('from the action')
    })

    test('fails with the exit code and the reason, keeps the previous deployment, and runs no input as a command', async () => {
      const before = await page()
      const refused = await act(serving('refused'), { token: 'berth_invalid' })
      expect(refused).toMatchObject({ code: 3, log: expect.stringContaining('ended with exit code 3') })
      const token = await createToken()
      const failed = await act('process.exit(1)', { token })
      expect(failed).toMatchObject({ code: 1, log: expect.stringContaining('The previous deployment keeps serving') })
      const trap = join(folder.path, 'trap')
      const hostile = `"; touch ${trap}; $(touch ${trap}) \`touch ${trap}\``
      const { code } = await act(serving('hostile'), { token, project: hostile, branch: hostile, environment: hostile })
      expect(code).not.toBe(0)
      await expect(stat(trap)).rejects.toMatchObject({ code: 'ENOENT' })
      expect(await page()).toBe(before)
      expect((await hosting.api('GET', `/projects/${projectId}`)).body.data.status).toBe('live')
    })
  })
})
