import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GitServer, startGitServer } from '../kit/git-server.ts'
import { type Hosting, isOver, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeOnRuntimes } from '../kit/runtimes.ts'

const takes = (ms: number) => `node -e "setTimeout(() => {}, ${ms})"`

describeOnRuntimes('the queue of deployments', (runtime) => {
  let hosting: Hosting
  let git: GitServer
  beforeAll(async () => {
    ;[hosting, git] = await Promise.all([startHosting({ runtime, env: { BERTH_MAX_BUILDS: '5' } }), startGitServer()])
  })
  afterAll(() => Promise.all([hosting?.[Symbol.asyncDispose](), git?.close()]))

  const makeApp = async (name: string, source = serving(name), more: object = {}) => {
    const folder = join(hosting.folder, name)
    await writeApp(folder, source)
    return hosting.makeProject({ name, localPath: folder, healthCheck: { path: '/' }, ...more })
  }

  test('after three pushes during one build, the third goes live', async () => {
    const url = await git.createRepository('team/app')
    const manifest = JSON.stringify({ name: 'app', type: 'module', scripts: { start: 'node server.js' } })
    const push = (version: number) =>
      git.commit('team/app', { 'package.json': manifest, 'server.js': serving(`push ${version}`) })
    await push(0)
    const project = await hosting.makeProject({ name: 'pushed', gitProvider: 'git', gitUrl: url, buildCommand: takes(3000) })
    const building = await hosting.deploy(project.id)
    await hosting.settled(building, (found) => found.steps.some(({ name }) => name === 'build') || isOver(found))
    const ids: string[] = []
    const commits: string[] = []
    for (const version of [1, 2, 3]) {
      commits.push(await push(version))
      ids.push(await hosting.deploy(project.id))
    }
    const [first, second, third] = await Promise.all(ids.map((id) => hosting.settled(id)))
    for (const replaced of [first, second]) expect(replaced).toMatchObject({ status: 'cancelled', error: { code: 'replaced' } })
    expect(third).toMatchObject({ status: 'live', commit: { sha: commits[2] }, error: null })
    expect((await hosting.get(`${project.slug}.localhost`)).text).toBe('push 3')
    expect((await hosting.deployment(building)).status).toBe('superseded')
  })

  const cancelOneOfFive = async () => {
    const projects = await Promise.all(
      [1, 2, 3, 4, 5].map((n) => makeApp(`par${n}`, serving(`par${n}`), { buildCommand: takes(3000) })),
    )
    const ids = await Promise.all(projects.map(({ id }) => hosting.deploy(id)))
    const running = (found: { steps: { name: string }[] }) => found.steps.some(({ name }) => name === 'build')
    await Promise.all(ids.map((id) => hosting.settled(id, running)))
    expect(await hosting.api('POST', `/deployments/${ids[2]}/cancel`)).toMatchObject({
      status: 200,
      body: { data: { status: 'cancelled' } },
    })
    const ended = await Promise.all(ids.map((id) => hosting.settled(id)))
    expect(ended.map(({ status }) => status)).toEqual(['live', 'live', 'cancelled', 'live', 'live'])
  }
  // The number of concurrent builds is decided before a runtime is called: one runtime is enough.
  if (runtime === 'process') test('cancelling one of five parallel builds does not affect the other four', cancelOneOfFive)

  test('a deployment can be cancelled in every state, and a late success does not overwrite it', async () => {
    const project = await makeApp('stops', serving('old'), {})
    expect(await hosting.settled(await hosting.deploy(project.id))).toMatchObject({ status: 'live' })
    await hosting.api('PATCH', `/projects/${project.id}`, { buildCommand: takes(700) })
    await writeApp(join(hosting.folder, 'stops'), serving('new', { afterMs: 700 }))
    for (const step of ['queued', 'fetch', 'plan', 'build', 'start', 'health']) {
      const id = await hosting.deploy(project.id)
      if (step !== 'queued') await hosting.settled(id, (found) => found.steps.some(({ name }) => name === step))
      const { status } = await hosting.api('POST', `/deployments/${id}/cancel`)
      expect({ step, status }).toEqual({ step, status: 200 })
      await pause(100)
      expect({ step, ...(await hosting.deployment(id)) }).toMatchObject({
        step,
        status: 'cancelled',
        error: { code: 'cancelled' },
      })
      expect((await hosting.api('POST', `/deployments/${id}/cancel`)).status).toBe(409)
    }
    await pause(2500)
    const { body } = await hosting.api('GET', `/projects/${project.id}/deployments`)
    expect(body.data.map(({ status }: { status: string }) => status).toReversed()).toEqual([
      'live',
      ...Array(6).fill('cancelled'),
    ])
    expect((await hosting.get(`${project.slug}.localhost`)).text).toBe('old')
  })
})
