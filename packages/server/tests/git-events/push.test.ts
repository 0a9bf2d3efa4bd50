// gate: also on PostgreSQL, since three deliveries of one push arrive at once
import { createHmac, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { beginOperation, endOperation } from '../../src/modules/projects/index.ts'
import { newId } from '../../src/platform/db/ids.ts'
import { call } from '../kit/call.ts'
import { makePeople } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import { files, push, type Scene, startScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await startScene()
})
afterAll(() => scene?.stop())

const on = (project: { id: string }) => callsOn(scene.instance, scene.people.owner.token)(project)
const hookOf = (name: string) => scene.host.hooks.filter(({ repository }) => repository === name)
const hookId = (url: string) => new URL(url).searchParams.get('hook')!

/** A delivery as it is stored until it was handled. */
const deliveryOf = (name: string, commit: string) => {
  const [owner, repo] = name.split('/')
  return { id: 'x', kind: 'push', repository: { owner, repo }, branch: 'main', commit, message: '', author: null }
}

describe('a push', () => {
  test('is deployed without another call, and the commit status is pending, then success with the URL', async () => {
    const name = await scene.repository()
    const project = await scene.project(name)
    const commit = await scene.host.git.commit(name, files('second'))
    const [hook] = hookOf(name)
    const answer = await scene.deliver('push', push(name, commit), { secret: hook!.secret, hook: hookId(hook!.url) })
    expect([answer.status, answer.body.data]).toEqual([202, { outcome: 'accepted', reason: null }])
    await scene.settled()
    expect(await scene.deployments(project.id)).toMatchObject([
      {
        trigger: 'push',
        status: 'live',
        environment: 'production',
        commitSha: commit,
        commitMessage: 'a change',
        commitAuthor: 'Ann',
      },
    ])
    const reported = scene.host.statuses.filter(({ sha }) => sha === commit)
    expect(reported.map(({ state }) => state)).toContain('pending')
    expect(reported.at(-1)).toMatchObject({
      state: 'success',
      context: `berth/${project.slug}`,
      targetUrl: `http://${project.slug}.localhost:4080`,
    })
    const { webhook } = (await on(project)('GET', '/git')).body.data
    expect(webhook).toMatchObject({ active: true, lastDeliveryAt: expect.any(String) })
  })

  test('after the deployment of a folder becomes the source of the next deployment without a source', async () => {
    const name = await scene.repository()
    const project = await scene.project(name)
    const { token } = scene.people.owner
    const { sessionId } = (await call(scene.instance, token, 'POST /projects/folder/session', { body: {} })).body.data
    const { statusCode } = await scene.instance.app.inject({
      ...{ method: 'POST', url: `/api/projects/folder/upload/${sessionId}` },
      payload: tarball(...Object.entries(files('by hand')).map(([path, content]) => ({ name: path, content }))),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/gzip' },
    })
    expect(statusCode).toBe(200)
    const deploy = async (body: object) => {
      const answer = await call(scene.instance, token, 'POST /deployments/build/access', {
        body: { projectId: project.id, ...body },
      })
      expect(answer.status).toBe(202)
      await scene.settled()
    }
    await deploy({ uploadSessionId: sessionId })
    await deploy({})
    const commit = await scene.host.git.commit(name, files('second'))
    const [hook] = hookOf(name)
    await scene.deliver('push', push(name, commit), { secret: hook!.secret, hook: hookId(hook!.url) })
    await scene.settled()
    await deploy({})
    const made = await scene.deployments(project.id)
    expect(made.map(({ status }) => status)).toEqual(['superseded', 'superseded', 'superseded', 'live'])
    const kinds = (made as unknown as { source: string }[]).map(({ source }) => JSON.parse(source).kind)
    expect(kinds).toEqual(['upload', 'upload', 'git', 'git'])
    expect((await on(project)('GET', '')).body.data.source).toMatchObject({ kind: 'git', commit })
  })

  test.each(['restore', 'move'] as const)('during a %s waits, and is deployed afterwards', async (kind) => {
    const { database } = scene.instance
    const name = await scene.repository()
    const project = await scene.project(name)
    const subjectId = newId('rst')
    const operation = { projectId: project.id, environment: null, kind, subjectId }
    await database.transaction((transaction) => beginOperation(operation, transaction, { clock: { now: () => new Date() } }))
    const [hook] = hookOf(name)
    const body = push(name, await scene.host.git.commit(name, files('second')))
    await scene.deliver('push', body, { secret: hook!.secret, hook: hookId(hook!.url) })
    await scene.settled()
    expect(await scene.deployments(project.id)).toMatchObject([{ trigger: 'push', status: 'queued' }])
    await database.transaction((transaction) => endOperation(subjectId, transaction))
    await scene.settled()
    expect(await scene.deployments(project.id)).toMatchObject([{ trigger: 'push', status: 'live' }])
  })

  test('sent as a form with a signature over its raw bytes is deployed; with a signature over its JSON it is refused', async () => {
    const name = await scene.repository()
    const project = await scene.project(name)
    const commit = await scene.host.git.commit(name, files('by a form'))
    const [hook] = hookOf(name)
    const json = JSON.stringify(push(name, commit))
    const raw = `payload=${encodeURIComponent(json)}`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const options = { secret: hook!.secret, hook: hookId(hook!.url), raw, headers }
    const signedJson = `sha256=${createHmac('sha256', hook!.secret).update(json).digest('hex')}`
    const forged = await scene.deliver('push', {}, { ...options, headers: { ...headers, 'x-hub-signature-256': signedJson } })
    expect(forged.status).toBe(401)
    const answer = await scene.deliver('push', {}, options)
    expect([answer.status, answer.body.data.outcome]).toEqual([202, 'accepted'])
    await scene.settled()
    expect(await scene.deployments(project.id)).toMatchObject([{ status: 'live', commitSha: commit }])
    // Without the hook's id, the repository is read from the form.
    const { hook: _, ...unnamed } = options
    expect((await scene.deliver('push', {}, unnamed)).status).toBe(202)
    expect((await scene.deliver('push', {}, { ...options, raw: 'other=1' })).status).toBe(400)
  })

  test('of a repository renamed at the host is deployed', async () => {
    const name = await scene.repository()
    const project = await scene.project(name)
    const commit = await scene.host.git.commit(name, files('under a new name'))
    const [hook] = hookOf(name)
    const options = { secret: hook!.secret, hook: hookId(hook!.url) }
    const answer = await scene.deliver('push', push('ann/a-new-name', commit), options)
    expect([answer.status, answer.body.data.outcome]).toEqual([202, 'accepted'])
    await scene.settled()
    expect(await scene.deployments(project.id)).toMatchObject([{ status: 'live', commitSha: commit }])
  })

  test('delivered twice is deployed once, also if both deliveries are concurrent', async () => {
    const name = await scene.repository()
    const project = await scene.project(name)
    const [hook] = hookOf(name)
    const options = { secret: hook!.secret, hook: hookId(hook!.url), id: randomUUID() }
    const body = push(name, await scene.host.git.commit(name, files('second')))
    const answers = await Promise.all([1, 2, 3].map(() => scene.deliver('push', body, options)))
    expect(answers.map((answer) => answer.body.data.outcome).sort()).toEqual(['accepted', 'duplicate', 'duplicate'])
    await scene.settled()
    expect((await scene.deliver('push', body, options)).body.data.outcome).toBe('duplicate')
    expect(await scene.deployments(project.id)).toHaveLength(1)
    // The app's webhook and the organisation's hook report the same push under two ids.
    await scene.deliver('push', body, { ...options, id: randomUUID() })
    await scene.settled()
    expect(await scene.deployments(project.id)).toHaveLength(1)
  })

  test('back to an older commit is deployed again', async () => {
    const name = await scene.repository()
    const project = await scene.project(name)
    const [hook] = hookOf(name)
    const options = { secret: hook!.secret, hook: hookId(hook!.url) }
    const first = await scene.host.git.commit(name, files('a'))
    const second = await scene.host.git.commit(name, files('b'))
    for (const commit of [first, second, first]) {
      await scene.deliver('push', push(name, commit), options)
      await scene.settled()
    }
    expect((await scene.deployments(project.id)).map((row) => (row as never as { commitSha: string }).commitSha)).toEqual([
      first,
      second,
      first,
    ])
  })

  test('replayed with a valid signature and a new id does not deploy an older commit', async () => {
    const name = await scene.repository()
    const project = await scene.project(name)
    const [hook] = hookOf(name)
    const options = { secret: hook!.secret, hook: hookId(hook!.url) }
    const kept = push(name, await scene.host.git.commit(name, files('a')))
    await scene.deliver('push', kept, options)
    await scene.settled()
    await scene.deliver('push', push(name, await scene.host.git.commit(name, files('b'))), options)
    await scene.settled()
    expect((await scene.deliver('push', kept, { ...options, id: randomUUID() })).body.data.outcome).toBe('duplicate')
    await scene.settled()
    expect(await scene.deployments(project.id)).toHaveLength(2)
  })

  test('that is retried after a later push does not revert the later one', async () => {
    const name = await scene.repository()
    const project = await scene.project(name)
    const [hook] = hookOf(name)
    const options = { secret: hook!.secret, hook: hookId(hook!.url) }
    const { database } = scene.instance
    const reported = () =>
      database.db.selectFrom('gitDeliveries').selectAll().where('kind', '=', 'push').orderBy('receivedAt', 'desc').execute()
    const commits = [await scene.host.git.commit(name, files('a')), await scene.host.git.commit(name, files('b'))]
    await scene.deliver('push', push(name, commits[0]!), options)
    const { key, delivery } = (await reported())[0]!
    await scene.settled()
    await scene.deliver('push', push(name, commits[1]!), options)
    await scene.settled()
    const again = { handledAt: null, delivery: delivery ?? JSON.stringify(deliveryOf(name, commits[0]!)) }
    await database.transaction(async ({ db, enqueue }) => {
      await db.updateTable('gitDeliveries').set(again).where('key', '=', key).execute()
      const { id } = await enqueue({ kind: 'git-events.handle' }, { key } as never)
      await db.updateTable('jobs').set({ attempts: 1 }).where('id', '=', id).execute()
    })
    await scene.settled()
    expect(await scene.deployments(project.id)).toHaveLength(2)
    expect((await reported()).find((one) => one.key === key)).toMatchObject({ handledAt: expect.any(Number) })
  })

  test('with a wrong or missing signature, or the secret of another webhook, is 401 and has no effect', async () => {
    const name = await scene.repository()
    const project = await scene.project(name)
    const other = await scene.repository()
    await scene.project(other)
    const [hook] = hookOf(name)
    const [theirs] = hookOf(other)
    const body = push(name, await scene.host.git.commit(name, files('second')))
    const hookAt = hookId(hook!.url)
    const answers = [
      await scene.deliver('push', body, { secret: 'guessed', hook: hookAt }),
      await scene.deliver('push', body, { secret: 'guessed' }),
      await scene.deliver('push', body, { hook: hookAt, headers: { 'x-hub-signature-256': '' } }),
      await scene.deliver('push', body, { secret: theirs!.secret, hook: hookAt }),
      await scene.deliver('push', body, { secret: hook!.secret, hook: 'gwh_unknown' }),
      await scene.deliver('push', body, { secret: hook!.secret, hook: hookAt, headers: { 'x-hub-signature-256': 'sha256=00' } }),
    ]
    expect(answers.map(({ status, body: { code } }) => [status, code])).toEqual(Array(6).fill([401, 'unauthorized']))
    // Correctly signed by its own hook, but about a repository that the hook is not on.
    const foreign = await scene.deliver('push', body, { secret: theirs!.secret, hook: hookId(theirs!.url) })
    expect(foreign.status).toBe(400)
    await scene.settled()
    expect(await scene.deployments(project.id)).toEqual([])
  })

  test.each([
    ['an event that every object has', '__proto__', 'acme/shop'],
    ['a repository that no database can look for', 'push', 'ac\0me/shop'],
    ['a repository that is a path', 'push', '../../shop'],
  ])('without a signature, with %s, is the same 401', async (_, event, full_name) => {
    const payload = { ...push(full_name, 'a'.repeat(40)), action: event }
    expect((await scene.deliver(event, payload, { secret: 'a guess' })).status).toBe(401)
  })

  test('is deployed by each of three projects on one repository, each with its own webhook and secret', async () => {
    const name = await scene.repository()
    const organizations = [scene.people, await makePeople(scene.instance), await makePeople(scene.instance)]
    const projects: { id: string }[] = []
    for (const people of organizations) {
      await scene.connect(people)
      projects.push(await scene.project(name, people))
    }
    const hooks = hookOf(name)
    expect(new Set(hooks.map(({ secret }) => secret)).size).toBe(3)
    const counts = async () => Promise.all(projects.map(async ({ id }) => (await scene.deployments(id)).length))
    for (const [at, hook] of hooks.entries()) {
      const commit = await scene.host.git.commit(name, files(`for ${at}`))
      await scene.deliver('push', push(name, commit), { secret: hook.secret, hook: hookId(hook.url) })
      await scene.settled()
      expect(await counts()).toEqual(hooks.map((_, other) => (other <= at ? 1 : 0)))
    }
  })

  test('is deployed by every project and environment that follows the branch, and no other', async () => {
    const name = await scene.repository()
    const [one, two, off, disabled] = [
      await scene.project(name),
      await scene.project(name, scene.people, { gitOwner: 'Ann', gitRepo: name.slice(4).toUpperCase() }),
      await scene.project(name, scene.people, { autoDeploy: false }),
      await scene.project(name),
    ]
    await on(disabled!)('POST', '/disable')
    await on(one!)('POST', '/environments', { name: 'Staging', branch: 'next' })
    await on(one!)('POST', '/environments', { name: 'By hand' })
    const [hook] = hookOf(name)
    const options = { secret: hook!.secret, hook: hookId(hook!.url) }
    const next = await scene.host.git.commit(name, files('next'), { branch: 'next' })
    const main = await scene.host.git.commit(name, files('main'))
    await scene.deliver('push', push(name, next, 'next'), options)
    await scene.deliver('push', push(name, main), options)
    await scene.settled()
    const seen = async ({ id }: { id: string }) =>
      (await scene.deployments(id)).map(({ environment, status }) => `${environment} ${status}`).sort()
    expect(await seen(one!)).toEqual(['production live', 'staging live'])
    // The test's git, unlike its host, is case-sensitive: only the request for a deployment can be checked.
    expect(await seen(two!)).toEqual([expect.stringContaining('production')])
    expect([await seen(off!), await seen(disabled!)]).toEqual([[], []])
  })

  test('of a tag, a deleted branch or another branch has no effect, nor have other events', async () => {
    const name = await scene.repository()
    const project = await scene.project(name)
    const [hook] = hookOf(name)
    const options = () => ({ secret: hook!.secret, hook: hookId(hook!.url) })
    const commit = await scene.host.git.commit(name, files('second'))
    const body = push(name, commit)
    const outcomes = [
      await scene.deliver('push', { ...body, ref: 'refs/tags/v1' }, options()),
      await scene.deliver('push', { ...body, deleted: true, after: '0'.repeat(40) }, options()),
      await scene.deliver('star', { repository: body.repository }, options()),
      await scene.deliver('ping', { zen: 'x', repository: body.repository }, options()),
      await scene.deliver('push', push(name, commit, 'other'), options()),
    ].map((answer) => answer.body.data.outcome)
    expect(outcomes).toEqual(['ignored', 'ignored', 'ignored', 'pong', 'accepted'])
    await scene.settled()
    expect(await scene.deployments(project.id)).toEqual([])
  })
})

describe('POST /projects/:id/git/link', () => {
  test('adds the webhook to the repository, and its pushes are deployed; without auto-deploy it does not', async () => {
    const names = [await scene.repository(), await scene.repository()]
    const { token } = scene.people.owner
    for (const [at, autoDeploy] of [true, false].entries()) {
      const project = await makeProject(scene.instance, token, { autoDeploy })
      const [owner, repo] = names[at]!.split('/')
      const link = callsOn(scene.instance, token)(project)
      expect((await link('POST', '/git/link', { owner, repo })).status).toBe(200)
      await scene.settled()
      const { webhook } = (await link('GET', '/git')).body.data
      expect([webhook.active, hookOf(names[at]!).length]).toEqual(autoDeploy ? [true, 1] : [false, 0])
      if (!autoDeploy) continue
      await scene.deliver('push', push(names[at]!, await scene.host.git.commit(names[at]!, files('second'))), {
        secret: hookOf(names[at]!)[0]!.secret,
        hook: hookId(hookOf(names[at]!)[0]!.url),
      })
      await scene.settled()
      expect(await scene.deployments(project.id)).toHaveLength(1)
    }
  })
})

describe('POST /webhooks/git/:provider', () => {
  test('404: an unknown host', async () => {
    expect((await scene.deliver('push', {}, { provider: 'sourcehut' })).status).toBe(404)
  })

  test('400: a valid signature with invalid JSON or an invalid event; without a signature 401, and the body is not parsed', async () => {
    for (const raw of ['{"ref":', '[]', '{"a":1}'])
      expect((await scene.deliver('push', {}, { raw })).body.code).toBe('invalid_json')
    expect((await scene.deliver('push', {}, { raw: '{"ref":', secret: 'x' })).status).toBe(401)
  })

  test('413: more than 25 MB', async () => {
    const raw = JSON.stringify({ text: 'x'.repeat(25 * 1024 * 1024) })
    expect((await scene.deliver('push', {}, { raw, secret: 'x' })).status).toBe(413)
    const large = JSON.stringify({ text: 'x'.repeat(20 * 1024 * 1024), repository: { full_name: 'ann/x' } })
    expect((await scene.deliver('ping', {}, { raw: large })).body.data.outcome).toBe('pong')
  })

  test('an uninstalled app: its credentials are removed; projects stay and say that pushes no longer arrive', async () => {
    const { db } = scene.instance.database
    const { organizationId } = scene.people
    const now = Date.now()
    const row = {
      organizationId,
      provider: 'github' as const,
      accountId: '9',
      accountType: 'user' as const,
      createdAt: now,
      updatedAt: now,
    }
    const app = { id: 'gcn_app', source: 'app' as const, externalId: '77', accountLogin: 'Cleo' }
    await db
      .insertInto('gitConnections')
      .values({ ...row, ...app })
      .execute()
    const body = { name: 'Cleo', gitProvider: 'github', gitOwner: 'cleo', gitRepo: 'site', gitBranch: 'main' }
    const project = await makeProject(scene.instance, scene.people.owner.token, body)
    const active = async () => (await on(project)('GET', '/git')).body.data.webhook.active
    expect(await active()).toBe(true)
    const deleted = { action: 'deleted', installation: { id: 77, account: { login: 'cleo' } } }
    const name = await scene.repository()
    await scene.project(name)
    const [hook] = hookOf(name)
    // A hook on a repository is not authorized for installations.
    await scene.deliver('installation', deleted, { secret: hook!.secret, hook: hookId(hook!.url) })
    await scene.settled()
    expect(await active()).toBe(true)
    expect((await scene.deliver('installation', deleted)).status).toBe(202)
    await scene.settled()
    expect(await active()).toBe(false)
    expect(await db.selectFrom('gitConnections').select('id').where('id', '=', 'gcn_app').execute()).toEqual([])
    const announced = await db.selectFrom('deliveries').select('category').where('category', '=', 'git.disconnected').execute()
    expect(announced.length).toBeGreaterThan(0)
  })
})
