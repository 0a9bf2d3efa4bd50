import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { filesWith } from '../kit/canary.ts'
import { cliAtTerminal } from '../kit/cli-at-terminal.ts'
import { type GitHubHost, startGitHubHost, tokens } from '../kit/git-hosts/github-host.ts'
import { type Hosting, ownerSignIn, startHosting, writeApp } from '../kit/hosting.ts'

const run = promisify(execFile)

describe('berth git: from the device code to a linked repository', () => {
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
  const reported: string[] = []
  const berth = async (...args: string[]) => {
    const result = await hosting.cli(args, { cwd: folder })
    reported.push(result.stdout, result.stderr)
    return result
  }

  test('before an account is connected, the commands name the next step', async () => {
    expect((await berth('git', 'status')).stdout).toContain('berth git connect')
    expect(await berth('git', 'repos')).toMatchObject({ code: 2, stderr: expect.stringContaining('connect') })
    expect(await berth('git', 'connect', '--provider', 'nowhere')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('github, gitlab, gitea'),
    })
  })

  test('berth git connect shows the code and ends once the user has entered it', async () => {
    const connecting = berth('git', 'connect')
    await expect.poll(() => host.devices.waiting()).toHaveLength(1)
    const [code] = host.devices.waiting() as [string]
    host.devices.approve(code, tokens.ann)
    const { code: exit, stdout, stderr } = await connecting
    expect([exit, stdout]).toEqual([0, 'connected: ann\n'])
    expect(stderr).toContain(code)
    expect(stderr).toContain(`${host.url}/login/device`)
  })

  test('berth git repos and status show the account', async () => {
    expect((await berth('git', 'repos')).stdout).toMatch(/^acme\/shop {2}private {2}main/)
    expect(JSON.parse((await berth('git', 'status', '--json')).stdout)).toMatchObject({
      state: 'connected',
      accounts: [{ login: 'ann' }],
    })
  })

  test('berth git link uses the repository of the folder and reports its pushes', async () => {
    expect(await berth('init', '--name', 'Shop')).toMatchObject({ code: 0 })
    const { code, stdout } = await berth('git', 'link', '--json')
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { repository: 'acme/shop', branch: 'main' }])
    expect(host.hooks).toMatchObject([
      { repository: 'acme/shop', url: expect.stringContaining(`${hosting.berth.url}/api/webhooks/git/github?hook=`) },
    ])
    expect(await berth('git', 'link', 'acme/none')).toMatchObject({ code: 5 })
  })

  test('berth deploy at a terminal, in a clone of a connected host, offers to deploy every push', async () => {
    await host.createRepository('acme/blog', { 'package.json': '{ "name": "blog" }' })
    const blog = join(hosting.folder, 'blog')
    const app = "import { createServer } from 'node:http'\ncreateServer((_, r) => r.end('blog')).listen(process.env.PORT)"
    await writeApp(blog, app)
    await run('git', ['-C', blog, 'init', '--quiet'])
    await run('git', ['-C', blog, 'remote', 'add', 'origin', `${host.url}/acme/blog.git`])
    const question = 'This folder is a clone of acme/blog. Deploy every push automatically?'
    const { code, screen } = await cliAtTerminal(hosting, ['deploy', '--name', 'Blog'], {
      cwd: blog,
      answers: [{ to: question, type: 'y' }],
    })
    reported.push(screen)
    expect([code, screen]).toEqual([0, expect.stringContaining('every push to main of acme/blog will be deployed')])
    const { projectId } = JSON.parse(await readFile(join(blog, '.berth', 'project.json'), 'utf8'))
    const { source, config } = (await hosting.api('GET', `/projects/${projectId}`)).body.data
    expect([source, config.autoDeploy]).toMatchObject([{ kind: 'git', owner: 'acme', repo: 'blog', branch: 'main' }, true])
    expect(host.hooks.map(({ repository }) => repository)).toContain('acme/blog')
    // A folder with a project gets no prompt, and without a terminal there is none.
    const again = await berth('deploy', blog)
    expect([again.code, again.stderr]).toEqual([0, expect.not.stringContaining('Deploy every push')])
  })

  test('a push is delivered through the domain of the project at the edge', async () => {
    const { projectId } = JSON.parse(await readFile(join(hosting.folder, 'blog', '.berth', 'project.json'), 'utf8'))
    const { slug } = (await hosting.api('GET', `/projects/${projectId}`)).body.data
    const domain = `${slug}.localhost`
    expect((await hosting.api('POST', `/projects/${projectId}/webhook-domain`, { domain })).status).toBe(200)
    const hook = () => host.hooks.find(({ repository }) => repository === 'acme/blog')!
    const edge = new URL(hosting.berth.edgeUrl)
    await expect.poll(() => new URL(hook().url).host).toBe(`${domain}:${edge.port}`)
    const commit = await host.git.commit('acme/blog', { 'README.md': 'by the domain' })
    const repository = { id: 1, full_name: 'acme/blog' }
    const body = JSON.stringify({ ref: 'refs/heads/main', after: commit, deleted: false, repository })
    const headers = {
      ...{ host: domain, 'content-type': 'application/json', 'x-github-event': 'push', 'x-github-delivery': 'by-the-domain' },
      'x-hub-signature-256': `sha256=${createHmac('sha256', hook().secret).update(body).digest('hex')}`,
    }
    const { pathname, search } = new URL(hook().url)
    const status = await new Promise((resolve, reject) => {
      const sending = request(
        { host: edge.hostname, port: edge.port, path: pathname + search, method: 'POST', headers },
        (answer) => resolve(answer.resume().statusCode),
      )
      sending.on('error', reject).end(body)
    })
    expect(status).toBe(202)
    const triggers = async () =>
      (await hosting.api('GET', `/deployments?projectId=${projectId}`)).body.data.map(
        ({ trigger }: { trigger: string }) => trigger,
      )
    await expect.poll(triggers).toContain('push')
  })

  test('the token is in no log, file or output', async () => {
    const canary = tokens.ann
    expect(reported.join('\n')).not.toContain(canary)
    // The files do not change during the search: the push above is still being deployed.
    await hosting.berth.stop()
    expect(hosting.berth.output()).not.toContain(canary)
    expect(await filesWith(hosting.berth.dataFolder, [canary])).toEqual([])
  })
})
