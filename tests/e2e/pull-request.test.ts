import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GitHubHost, startGitHubHost } from '../kit/git-hosts/github-host.ts'
import { type Hosting, runtimeFolder, startHosting } from '../kit/hosting.ts'
import { describeOnRuntimes, listOnDocker } from '../kit/runtimes.ts'

const repository = 'acme/shop'
/** Reports what it was built from, which secret it sees, and that it can write to its volume. */
const app = (message: string) => ({
  'package.json': JSON.stringify({ name: 'app', type: 'module', scripts: { start: 'node server.js' } }),
  'server.js': `
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
appendFileSync(process.env.BERTH_VOLUME_DATA + '/starts', 'x')
const text = ${JSON.stringify(message)} + ' ' + (process.env.SECRET ?? 'without a secret')
createServer((_, response) => response.end(text)).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`,
})

describeOnRuntimes('the life of a pull request', (runtime) => {
  let host: GitHubHost
  let hosting: Hosting
  let project: { id: string; slug: string }

  beforeAll(async () => {
    host = await startGitHubHost()
    await host.createRepository(repository, app('main'))
    // The emulator has no pull requests for the test's git repository.
    host.intercept = ({ method, path }) =>
      path.includes('/issues/') ? { status: method === 'GET' ? 200 : 201, json: method === 'GET' ? [] : { id: 1 } } : undefined
    hosting = await startHosting({ runtime, env: host.settings('oauth') })
    const { body } = await hosting.api('POST', '/gitprovider/connect', { source: 'oauth' })
    await fetch(await host.authorize(body.url, 'ann'), { redirect: 'manual' })
    const git = { gitProvider: 'github', gitOwner: 'acme', gitRepo: 'shop', gitBranch: 'main' }
    const volumes = [{ name: 'data', mountPath: '/data' }]
    project = await hosting.makeProject({ name: 'Shop', ...git, volumes, healthCheck: { path: '/' } })
    const upserts = [{ key: 'SECRET', value: 'of production', isSecret: true }]
    expect((await on('PATCH', '/env', { upserts })).status).toBe(200)
    expect((await on('POST', '/options', { previews: true })).status).toBe(200)
    expect([200, 201]).toContain((await hosting.api('POST', `/gitprovider/repos/${repository}/webhooks`)).status)
  })
  afterAll(async () => {
    await hosting?.[Symbol.asyncDispose]()
    await host?.close()
  })

  const on = (method: string, path: string, body?: unknown) => hosting.api(method, `/projects/${project.id}${path}`, body)
  const notify = async (action: string, commit: string) => {
    const repo = { id: 1, full_name: repository }
    const head = { ref: 'feature', sha: commit, repo }
    const pull_request = { number: 7, title: 'Better', user: { login: 'bob' }, head, base: { ref: 'main', repo } }
    const answers = await host.deliver(repository, 'pull_request', { action, number: 7, repository: repo, pull_request })
    expect(answers).toMatchObject([{ status: 202, body: { data: { outcome: 'accepted' } } }])
  }
  /** Kills the control plane as soon as the host has its response. */
  const tellAndKill = async (action: string, commit: string) => {
    await notify(action, commit)
    await hosting.berth.kill9()
    await hosting.berth.restart()
  }
  const commit = (message: string) => host.git.commit(repository, app(message), { branch: 'feature' })
  const page = () => hosting.get(`pr-7.${project.slug}.localhost`)
  const text = async () => (await page().catch(() => null))?.text
  const slow = { interval: 200 }
  /** Volumes and instances that the runtime keeps on the machine. */
  const kept = async () =>
    runtime === 'docker'
      ? (await listOnDocker(hosting.berth.dataFolder)).filter((one) => /^(container|volume)/.test(one))
      : Promise.all(['volumes', 'instances'].map((kind) => readdir(join(runtimeFolder(hosting.berth.dataFolder), kind)))).then(
          (lists) => lists.flat(),
        )
  let second: string

  test('an opened pull request has a preview with its own URL and volume, without the variables of production', async () => {
    await notify('opened', await commit('one'))
    await expect.poll(text, slow).toBe('one without a secret')
    const [known] = (await on('GET', '/pull-requests')).body.data
    expect(known).toMatchObject({ number: 7, state: 'active', environment: 'pr-7' })
    expect(new URL(known.url).hostname).toBe(`pr-7.${project.slug}.localhost`)
    expect(await kept()).toHaveLength(2)
  })

  test('a new commit updates the preview, even if the control plane is killed right after the delivery', async () => {
    second = await commit('two')
    await tellAndKill('synchronize', second)
    await expect.poll(text, slow).toBe('two without a secret')
    const deployments = async () =>
      (await on('GET', '/deployments?environment=pr-7')).body.data.map(
        ({ number, status }: { number: number; status: string }) => `${number} ${status}`,
      )
    await expect.poll(deployments, slow).toEqual(['2 live', '1 superseded'])
  })

  test('a closed pull request leaves no resources', async () => {
    await notify('closed', second)
    const environments = async () => (await on('GET', '/environments')).body.data.map(({ slug }: { slug: string }) => slug)
    await expect.poll(environments, slow).toEqual(['production'])
    await expect.poll(kept, slow).toEqual([])
    expect((await page()).status).toBe(404)
    expect((await on('GET', '/pull-requests')).body.data).toMatchObject([{ number: 7, state: 'closed', url: null }])
    expect((await on('GET', '/env?environment=pr-7')).body.data ?? []).toEqual([])
  })
})
