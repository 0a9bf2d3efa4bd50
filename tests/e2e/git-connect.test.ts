import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type GitHubHost, startGitHubHost, tokens } from '../kit/git-hosts/github-host.ts'
import { type Hosting, ownerSignIn, startHosting, writeApp } from '../kit/hosting.ts'

const run = promisify(execFile)

describe('berth git: from the code that a person types to a repository that is linked', () => {
  let host: GitHubHost
  let hosting: Hosting
  let folder: string
  beforeAll(async () => {
    host = await startGitHubHost()
    await host.createRepository('acme/shop', { 'package.json': '{ "name": "shop" }' })
    hosting = await startHosting({ env: { ...host.settings('device'), BERTH_LOG_LEVEL: 'debug' } })
    expect(
      await hosting.cli(['login', '--email', ownerSignIn.email, '--password-stdin'], { input: ownerSignIn.password }),
    ).toMatchObject({ code: 0 })
    folder = join(hosting.folder, 'shop')
    await writeApp(folder, 'console.log(1)')
    await run('git', ['-C', folder, 'init', '--quiet'])
    await run('git', ['-C', folder, 'remote', 'add', 'origin', `${host.url}/acme/shop.git`])
  })
  afterAll(async () => {
    await hosting?.[Symbol.asyncDispose]()
    await host?.close()
  })
  const said: string[] = []
  const berth = async (...args: string[]) => {
    const result = await hosting.cli(args, { cwd: folder })
    said.push(result.stdout, result.stderr)
    return result
  }

  test('before anything is connected, the commands say what to do', async () => {
    expect((await berth('git', 'status')).stdout).toContain('berth git connect')
    expect(await berth('git', 'repos')).toMatchObject({ code: 2, stderr: expect.stringContaining('connect') })
    expect(await berth('git', 'connect', '--provider', 'nowhere')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('github, gitlab, gitea'),
    })
  })

  test('berth git connect shows the code, and ends once it was typed', async () => {
    const connecting = berth('git', 'connect')
    await expect.poll(() => host.devices.waiting()).toHaveLength(1)
    const [code] = host.devices.waiting() as [string]
    host.devices.approve(code, tokens.ann)
    const { code: exit, stdout, stderr } = await connecting
    expect([exit, stdout]).toEqual([0, 'connected: ann\n'])
    expect(stderr).toContain(code)
    expect(stderr).toContain(`${host.url}/login/device`)
  })

  test('berth git repos and status tell of it', async () => {
    expect((await berth('git', 'repos')).stdout).toMatch(/^acme\/shop {2}private {2}main/)
    expect(JSON.parse((await berth('git', 'status', '--json')).stdout)).toMatchObject({
      state: 'connected',
      accounts: [{ login: 'ann' }],
    })
  })

  test('berth git link takes the repository of the folder, and its pushes are told of', async () => {
    expect(await berth('init', '--name', 'Shop')).toMatchObject({ code: 0 })
    const { code, stdout } = await berth('git', 'link', '--json')
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { repository: 'acme/shop', branch: 'main' }])
    expect(host.hooks).toMatchObject([
      { repository: 'acme/shop', url: expect.stringContaining(`${hosting.berth.url}/api/webhooks/git/github?hook=`) },
    ])
    expect(await berth('git', 'link', 'acme/none')).toMatchObject({ code: 5 })
  })

  test('the token is in no log, no file and nothing that was said', async () => {
    const canary = tokens.ann
    expect(said.join('\n')).not.toContain(canary)
    expect(hosting.berth.output()).not.toContain(canary)
    const files = await readdir(hosting.berth.dataFolder, { recursive: true, withFileTypes: true })
    for (const file of files.filter((one) => one.isFile()))
      expect([file.name, (await readFile(join(file.parentPath, file.name))).includes(canary)]).toEqual([file.name, false])
  })
})
