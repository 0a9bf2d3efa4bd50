// gate: also on PostgreSQL, since jobs of a dead process come back when their lease ends
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GitHost } from '../../src/drivers/git-host/git-host.ts'
import { readConfig } from '../../src/instance/config/config.ts'
import { createGitHosts, type InstanceGitHosts } from '../../src/instance/drivers/git-hosts.ts'
import { stepLength } from '../kit/before-sql.ts'
import { type Life, Lives } from '../kit/lives.ts'
import { callsOn } from '../kit/projects.ts'
import { files, pullRequest, push, type Scene, startScene } from './scene.ts'

/**
 * Every step is tried: each test continues until the work ends before its step is reached. A step is a transaction, or a call to
 * the git host.
 */

const folder = mkdtempSync(join(tmpdir(), 'berth-killed-'))
let scene: Scene
let lives: Lives
let name: string
let project: { id: string; slug: string }
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  scene = await startScene()
  name = await scene.repository()
  project = await scene.project(name, scene.people, { previews: true, previewsMaximum: 100 })
  on = callsOn(scene.instance, scene.people.owner.token)(project)
  await scene.instance.jobs.stop({ graceMs: 1_000 })
  const config = readConfig({ HOME: folder, BERTH_DATA_DIR: folder, ...scene.settings })
  // Nothing is built: killing a build has its own tests.
  const parts = { config: { ...config, maxBuilds: 0 } }
  lives = new Lives(scene.instance, (life) => ({ ...parts, gitHosts: mortal(createGitHosts(config), life) }))
})
afterAll(async () => {
  await lives?.end()
  await scene?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Every call to the git host is a step, before it and after it. */
function mortal(drivers: InstanceGitHosts, life: Life): InstanceGitHosts {
  const create: InstanceGitHosts['create'] = (provider, settings) => {
    const host = drivers.create(provider, settings)
    const calls = Object.entries(host).map(([key, value]) => {
      if (typeof value !== 'function' || key === 'isSignedWith' || key === 'readDelivery') return [key, value]
      return [key, (...given: unknown[]) => lives.step(life, () => sent(value.apply(host, given)))]
    })
    return Object.fromEntries(calls) as GitHost
  }
  return { ...drivers, create }
}

const underWay = new Set<Promise<unknown>>()

/** A request that was sent arrives, even if the control plane that sent it is dead by then. */
function sent<Result>(call: Promise<Result>): Promise<Result> {
  underWay.add(call)
  call.then(
    () => underWay.delete(call),
    () => underWay.delete(call),
  )
  return call
}

/** Another process takes over until no work is left. */
async function takeOver(): Promise<void> {
  const life = await lives.start()
  await life.plane.jobs.whenIdle()
  await lives.end()
}

/** Kills the control plane at each step in turn; the next one finishes the work. `before` runs without kills. */
async function killedAtEach(round: {
  before?(): Promise<void>
  reported(at: number): Promise<void>
  check(what: string): Promise<void>
}): Promise<void> {
  for (let at = 0, end = ''; end !== 'idle'; at += stepLength) {
    await round.before?.()
    const life = await lives.start(at)
    await round.reported(at)
    end = await lives.idle(life)
    await Promise.allSettled(underWay)
    await takeOver()
    await round.check(`killed at step ${at}`)
  }
}

const sendOf = async (event: string, payload: object) => {
  const hook = scene.host.hooks.find(({ repository }) => repository === name)!
  const options = { secret: hook.secret, hook: new URL(hook.url).searchParams.get('hook')! }
  expect((await scene.deliver(event, payload, options)).status).toBe(202)
}
const statusesOf = (sha: string) => scene.host.statuses.filter((one) => one.sha === sha).map(({ state }) => state)
const unhandled = async () =>
  (await scene.instance.database.db.selectFrom('gitDeliveries').select('key').where('handledAt', 'is', null).execute()).length

test('kill -9 at every step from a push to the commit status: one deployment, and its status is reported', async () => {
  let sha = ''
  await killedAtEach({
    async reported(at) {
      sha = await scene.host.git.commit(name, files(`push ${at}`))
      await sendOf('push', push(name, sha))
    },
    async check(what) {
      const rows = (await scene.deployments(project.id)) as unknown as { commitSha: string; status: string }[]
      const own = rows.filter(({ commitSha }) => commitSha === sha).map(({ status }) => status)
      expect([own, statusesOf(sha).at(-1), await unhandled()], what).toEqual([['queued'], 'pending', 0])
    },
  })
})

test('the last ten of many waiting pushes to a branch are handled; a push to a branch without a project enqueues no job', async () => {
  const { db } = scene.instance.database
  const shas = Array.from({ length: 14 }, (_, at) => (at + 1).toString(16).padStart(40, 'c'))
  for (const sha of shas) {
    await sendOf('push', push(name, sha))
    // Two deliveries of the same millisecond have no order.
    for (const now = Date.now(); Date.now() === now; ) await pause(1)
  }
  const waiting = () =>
    db.selectFrom('jobs').select('id').where('kind', '=', 'git-events.handle').where('status', '=', 'queued').execute()
  const before = (await waiting()).length
  await sendOf('push', push(name, 'd'.repeat(40), 'a-branch-without-a-project'))
  expect((await waiting()).length).toBe(before)
  await takeOver()
  const rows = (await scene.deployments(project.id)) as unknown as { commitSha: string; status: string }[]
  const made = rows.filter(({ commitSha }) => shas.includes(commitSha))
  expect(made.map(({ commitSha }) => commitSha)).toEqual(shas.slice(-10))
  expect([made.at(-1)?.status, await unhandled()]).toEqual(['queued', 0])
})

describe('a pull request', () => {
  let number = 100
  let sha: string
  beforeAll(async () => {
    sha = await scene.host.git.commit(name, files('a feature'), { branch: 'feature' })
  })
  const send = (action: string) => sendOf('pull_request', pullRequest(name, action, sha, { number }))
  const comments = () => scene.comments.filter(({ at }) => at === `${name}#${number}`).map(({ body }) => body)
  const environments = async () => (await on('GET', '/environments')).body.data.map(({ slug }: { slug: string }) => slug)

  test('that opens, kill -9 at every step: one preview, and one comment with its URL', async () => {
    await killedAtEach({
      async reported() {
        number += 1
        await send('opened')
      },
      async check(what) {
        expect(await environments(), what).toContain(`pr-${number}`)
        expect(comments(), what).toEqual([expect.stringContaining(`pr-${number}.${project.slug}`)])
      },
    })
  })

  test('that closes, kill -9 at every step: no part of its preview is left, and the comment says so', async () => {
    await killedAtEach({
      async before() {
        number += 1
        await send('opened')
        await takeOver()
      },
      reported: () => send('closed'),
      async check(what) {
        // An abandoned removal is resumed a minute later.
        await scene.instance.database.db
          .updateTable('jobs')
          .set({ runAt: 0 })
          .where('kind', '=', 'projects.remove-environment')
          .execute()
        await takeOver()
        expect(await environments(), what).not.toContain(`pr-${number}`)
        expect(comments(), what).toEqual([expect.stringContaining('was removed')])
        expect(await unhandled(), what).toBe(0)
      },
    })
  })
})

test('kill -9 at every step of handling an uninstalled app: its connection is removed, and the organisation was notified once', async () => {
  const { db } = scene.instance.database
  const notified = async () => {
    const jobs = await db.selectFrom('jobs').select('payload').where('kind', '=', 'notifications.announce').execute()
    return jobs.map(({ payload }) => JSON.parse(payload)).filter(({ category }) => category === 'git.disconnected').length
  }
  let before = 0
  await killedAtEach({
    async before() {
      const now = Date.now()
      const account = { accountId: '9', accountType: 'user' as const, accountLogin: 'cleo' }
      const app = { id: 'gcn_app', provider: 'github' as const, source: 'app' as const, externalId: '77', ...account }
      const { organizationId } = scene.people
      await db
        .insertInto('gitConnections')
        .values({ ...app, organizationId, createdAt: now, updatedAt: now })
        .execute()
      before = await notified()
    },
    async reported() {
      const payload = { action: 'deleted', installation: { id: 77, account: { login: 'cleo' } } }
      expect((await scene.deliver('installation', payload)).status).toBe(202)
    },
    async check(what) {
      const rows = await db.selectFrom('gitConnections').select('source').execute()
      expect([rows.map(({ source }) => source), (await notified()) - before], what).toEqual([['oauth'], 1])
    },
  })
})
