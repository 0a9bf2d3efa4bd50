import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dockerObjectsWith, encodedForms, filesWith, processesWith } from '../kit/canary.ts'
import { type GitHubHost, startGitHubHost, tokens } from '../kit/git-hosts/github-host.ts'
import { type Hosting, startHosting, writeApp } from '../kit/hosting.ts'
import { describeOnRuntimes } from '../kit/runtimes.ts'

const run = promisify(execFile)
const marker = 'a line of the source that is to be found'
const page = (message: string) => `
// ${marker}
import { createServer } from 'node:http'
createServer((_, response) => response.end(${JSON.stringify(message)})).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`

describeOnRuntimes('from git push to live', (runtime) => {
  let host: GitHubHost
  let hosting: Hosting
  let project: { id: string; slug: string }
  let work: string
  /** The tokens that git used to fetch for Berth, and the secrets found while git waited for its response. */
  const fetched = { tokens: new Set<string>(), found: [] as string[], seenGit: 0, seenConfig: 0 }

  beforeAll(async () => {
    host = await startGitHubHost()
    await host.createRepository('acme/shop')
    hosting = await startHosting({ runtime, env: { ...host.settings('oauth'), BERTH_LOG_LEVEL: 'debug' } })
    const { body } = await hosting.api('POST', '/gitprovider/connect', { source: 'oauth' })
    const back = await fetch(await host.authorize(body.url, 'ann'), { redirect: 'manual' })
    expect(back.status).toBe(303)
    const git = { gitProvider: 'github', gitOwner: 'acme', gitRepo: 'shop', gitBranch: 'main' }
    project = await hosting.makeProject({ name: 'Shop', ...git, healthCheck: { path: '/' } })
    expect([200, 201]).toContain((await hosting.api('POST', '/gitprovider/repos/acme/shop/webhooks')).status)
    work = join(hosting.folder, 'shop')
    const url = new URL(`${host.url}/acme/shop.git`)
    Object.assign(url, { username: 'bob', password: tokens.bob })
    await run('git', ['clone', '--quiet', url.href, work])
    host.onGit = async ({ service, token }) => {
      if (service !== 'upload-pack') return
      fetched.tokens.add(token)
      const forms = encodedForms(token)
      const { dataFolder } = hosting.berth
      fetched.found.push(...(await processesWith(forms)), ...(await filesWith(dataFolder, forms)))
      fetched.seenGit += (await processesWith([`${host.url}/acme/shop`])).filter((one) => one.includes('git')).length
      fetched.seenConfig += (await filesWith(dataFolder, ['[core]'])).filter((path) => path.endsWith('/config')).length
    }
  })
  afterAll(async () => {
    await hosting?.[Symbol.asyncDispose]()
    await host?.close()
  })

  const pushWith = async (message: string): Promise<string> => {
    await writeApp(work, page(message))
    await writeFile(join(work, 'README.md'), message)
    const git = (...args: string[]) =>
      run('git', ['-C', work, '-c', 'user.name=Bob', '-c', 'user.email=bob@example.test', ...args])
    await git('add', '--all')
    await git('commit', '--quiet', '--message', `say ${message}`)
    await git('push', '--quiet', 'origin', 'HEAD:main')
    return (await git('rev-parse', 'HEAD')).stdout.trim()
  }
  const deployments = async () => (await hosting.api('GET', `/deployments?projectId=${project.id}`)).body.data
  const served = async () => (await hosting.get(`${project.slug}.localhost`)).text
  const liveWith = async (message: string) => {
    await expect.poll(served, { interval: 200 }).toBe(message)
    await expect.poll(async () => (await deployments())[0].status).toBe('live')
  }

  test('a push becomes live without another call, and its commit status is reported', async () => {
    const commit = await pushWith('first')
    await liveWith('first')
    expect(host.pushed).toMatchObject([{ commit, answers: [{ status: 202, body: { data: { outcome: 'accepted' } } }] }])
    expect(await deployments()).toMatchObject([
      {
        number: 1,
        trigger: 'push',
        status: 'live',
        createdBy: null,
        commit: { sha: commit, message: 'say first', author: 'Bob' },
      },
    ])
    await expect
      .poll(() => host.statuses.filter(({ sha }) => sha === commit).at(-1))
      .toMatchObject({ state: 'success', context: `berth/${project.slug}` })
  })

  test('a repeated delivery does nothing; the next push is deployed', async () => {
    const [{ id, payload }] = host.pushed as [(typeof host.pushed)[0]]
    const again = await host.deliver('acme/shop', 'push', payload, id)
    expect(again).toMatchObject([{ body: { data: { outcome: 'duplicate' } } }])
    // Events of a repository are handled in order: if the second one had had an effect, it would be visible by then.
    await pushWith('second')
    await liveWith('second')
    expect((await deployments()).map(({ number, status }: { number: number; status: string }) => [number, status])).toEqual([
      [2, 'live'],
      [1, 'superseded'],
    ])
  })

  test('the fetch token is in no argument, environment or file while git fetches', () => {
    expect(fetched.tokens.size).toBe(1)
    expect([...fetched.tokens]).not.toContain(tokens.bob)
    // Git was running with its own configuration: the search has seen both.
    expect(fetched.seenGit).toBeGreaterThan(0)
    expect(fetched.seenConfig).toBeGreaterThan(0)
    expect(fetched.found).toEqual([])
  })

  test('after the fetch the token is in no process, file, log, event, audit entry or commit status', async () => {
    const forms = encodedForms([...fetched.tokens][0]!)
    const { dataFolder } = hosting.berth
    expect(await processesWith(forms)).toEqual([])
    expect(await filesWith(dataFolder, forms)).toEqual([])
    const [newest] = await deployments()
    const log = await hosting.api('GET', `/deployments/${newest.id}/logs`)
    expect(JSON.stringify(log.body)).toContain(`At commit ${newest.commit.sha}`)
    const audit = await hosting.api('GET', '/audit-log')
    expect(audit.body.data.length).toBeGreaterThan(0)
    const answers = await Promise.all(
      [
        `/deployments/${newest.id}/stream`,
        `/projects/${project.id}/logs`,
        `/projects/${project.id}/git`,
        '/gitprovider/status',
      ].map((path) => hosting.api('GET', path)),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const reported = JSON.stringify([log, audit, answers, host.statuses, hosting.berth.output()])
    for (const form of forms) expect(reported).not.toContain(form)
  })

  if (runtime === 'docker')
    test('the token is in no layer, history or configuration of an image or container', async () => {
      const { dataFolder } = hosting.berth
      expect((await dockerObjectsWith(dataFolder, [marker])).some((path) => path.startsWith('layers '))).toBe(true)
      expect(await dockerObjectsWith(dataFolder, encodedForms([...fetched.tokens][0]!))).toEqual([])
    })
})
