import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { BuildRequest } from '../../src/drivers/runtime/runtime.ts'
import { BuildFailed } from '../../src/drivers/runtime/runtime-errors.ts'
import { tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { call } from '../kit/call.ts'
import { makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
/** The text of server.js that each deployment was built from. */
const built = new Map<string, string>()
const noteVersion = async ({ owner, sourceFolder }: BuildRequest) => {
  built.set(owner.deploymentId, await readFile(join(sourceFolder, 'server.js'), 'utf8'))
}
beforeAll(async () => {
  scene = await setScene()
  scene.instance.drivers.runtime.whileBuilding = noteVersion
})
afterEach(() => {
  scene.instance.drivers.runtime.whileBuilding = noteVersion
})
afterAll(() => scene?.end())

const manifest = JSON.stringify({ name: 'shop', scripts: { start: 'node server.js' } })

async function uploaded(version: string): Promise<string> {
  const { instance, people } = scene
  const { token } = people.member
  const { sessionId } = (await call(instance, token, 'POST /projects/folder/session', { body: {} })).body.data
  const { statusCode } = await instance.app.inject({
    ...{ method: 'POST', url: `/api/projects/folder/upload/${sessionId}` },
    payload: tarball({ name: 'package.json', content: manifest }, { name: 'server.js', content: version }),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/gzip' },
  })
  expect(statusCode).toBe(200)
  return sessionId
}

/** Deploys and returns the text it was built from. */
async function versionOf(projectId: string, body: object = {}): Promise<string | undefined> {
  const id = await scene.deploy(projectId, body)
  expect(await scene.settled(id)).toMatchObject({ status: 'live' })
  return built.get(id)
}

const failing = async () => {
  throw new BuildFailed('command_failed', 'it does not compile', [])
}
const failedDeploy = async (projectId: string, body: object) => {
  scene.instance.drivers.runtime.whileBuilding = failing
  expect(await scene.settled(await scene.deploy(projectId, body))).toMatchObject({ status: 'failed' })
  scene.instance.drivers.runtime.whileBuilding = noteVersion
}
const make = (fields: object) => makeProject(scene.instance, scene.people.admin.token, fields)
const addEnvironment = async (id: string, name: string) =>
  expect((await scene.request('POST /projects/:id/environments', id, { body: { name } })).status).toBe(201)
const sourceOf = async (id: string) => (await scene.request('GET /projects/:id', id)).body.data.source

const firstSources: [string, () => Promise<object>][] = [
  ['an upload that the project was made of', async () => ({ gitProvider: 'upload', uploadSessionId: await uploaded('v0') })],
  ['an upload project that never had one', async () => ({ gitProvider: 'upload' })],
  ['no source at all', async () => ({})],
  ['a folder of this machine', async () => ({ localPath: scene.source })],
]

describe('the upload of a deployment request becomes the source of its environment', () => {
  test.each(firstSources)('a later deployment without an upload builds it again: %s', async (_, fields) => {
    const { id } = await make(await fields())
    for (const version of ['v1', 'v2', 'v3'])
      expect(await versionOf(id, { uploadSessionId: await uploaded(version) })).toBe(version)
    expect(await versionOf(id)).toBe('v3')
  })

  test.each(firstSources)('also after a failed deployment: %s', async (_, fields) => {
    const { id } = await make(await fields())
    await versionOf(id, { uploadSessionId: await uploaded('v1') })
    await failedDeploy(id, { uploadSessionId: await uploaded('v2') })
    expect(await versionOf(id)).toBe('v2')
  })

  test('the record of a project without a source shows the upload as its source', async () => {
    const { id } = await make({})
    expect((await sourceOf(id)).kind).toBe('none')
    await versionOf(id, { uploadSessionId: await uploaded('v1') })
    expect((await sourceOf(id)).kind).toBe('upload')
  })

  test('an environment without its own source uses that of production; an environment with one keeps it', async () => {
    const { id } = await make({ gitProvider: 'upload' })
    await addEnvironment(id, 'staging')
    await versionOf(id, { uploadSessionId: await uploaded('v1') })
    expect(await versionOf(id, { environment: 'staging' })).toBe('v1')
    await versionOf(id, { environment: 'staging', uploadSessionId: await uploaded('s1') })
    expect(await versionOf(id, { environment: 'staging' })).toBe('s1')
    expect(await versionOf(id)).toBe('v1')
  })

  test('a rollback changes the live version, not the source of the next build', async () => {
    const { id } = await make({ gitProvider: 'upload' })
    const first = await scene.deploy(id, { uploadSessionId: await uploaded('v1') })
    await scene.settled(first)
    await versionOf(id, { uploadSessionId: await uploaded('v2') })
    const { deploymentId } = (await scene.request('POST /deployments/:id/rollback', first)).body.data
    await scene.settled(deploymentId)
    expect(await versionOf(id)).toBe('v2')
  })

  test('a source that is set afterwards replaces it', async () => {
    const { id } = await make({ localPath: scene.source })
    await versionOf(id, { uploadSessionId: await uploaded('v1') })
    const chosen = await uploaded('v2')
    expect((await scene.request('PATCH /projects/:id', id, { body: { uploadSessionId: chosen } })).status).toBe(200)
    expect(await versionOf(id)).toBe('v2')
  })
})

describe('the files of an upload are kept as long as a deployment in the rollback window or the project uses them', () => {
  const isKept = (sessionId: string) => existsSync(scene.instance.projects.uploadFile(sessionId))
  const { jobs, sessions } = {
    jobs: () => scene.instance.database.db.selectFrom('jobs'),
    sessions: () => scene.instance.database.db.updateTable('uploadSessions'),
  }
  const isOver = (kind: string) =>
    expect
      .poll(async () => (await jobs().select('id').where('kind', '=', kind).where('finishedAt', 'is', null).execute()).length)
      .toBe(0)
  /** Runs the sweep as if an hour had passed since each unused upload. */
  const sweep = async () => {
    await isOver('deployments.deploy')
    await isOver('deployments.clean-up')
    await sessions()
      .set({ expiresAt: 1 })
      .where('expiresAt', '<', Date.now() + 24 * 3600_000)
      .execute()
    await scene.instance.database.transaction(({ enqueue }) => enqueue({ kind: 'projects.sweep-uploads' }, {}))
    await isOver('projects.sweep-uploads')
  }

  test('each version in the window can be built again; uploads outside of it are removed', async () => {
    const { id } = await make({ gitProvider: 'upload', rollbackWindow: 1 })
    const sessions: string[] = []
    const deployments: string[] = []
    for (const version of ['v1', 'v2', 'v3']) {
      sessions.push(await uploaded(version))
      deployments.push(await scene.deploy(id, { uploadSessionId: sessions.at(-1) }))
      await scene.settled(deployments.at(-1) as string)
    }
    await sweep()
    expect(sessions.map(isKept)).toEqual([false, true, true])
    const again = (await scene.request('POST /deployments/:id/redeploy', deployments[1] as string)).body.data.deploymentId
    expect(await scene.settled(again)).toMatchObject({ status: 'live' })
    expect(built.get(again)).toBe('v2')
    const gone = await scene.request('POST /deployments/:id/redeploy', deployments[0] as string)
    expect([gone.status, gone.body.code]).toEqual([409, 'nothing_to_deploy'])
  })

  test('the upload of the newest failed deployment stays, as the source of the project', async () => {
    const { id } = await make({ gitProvider: 'upload' })
    const [first, second] = [await uploaded('v1'), await uploaded('v2')]
    await failedDeploy(id, { uploadSessionId: first })
    await failedDeploy(id, { uploadSessionId: second })
    await sweep()
    expect([first, second].map(isKept)).toEqual([false, true])
  })

  test('the upload of an environment is removed with it, and all uploads with the project', async () => {
    const { id } = await make({ gitProvider: 'upload' })
    await addEnvironment(id, 'staging')
    const [production, staging] = [await uploaded('v1'), await uploaded('s1')]
    await versionOf(id, { uploadSessionId: production })
    await versionOf(id, { environment: 'staging', uploadSessionId: staging })
    await sweep()
    expect([production, staging].map(isKept)).toEqual([true, true])
    const { admin } = scene.people
    const removed = await scene.request(
      'DELETE /projects/:id/environments/:environment',
      id,
      { params: { id, environment: 'staging' } },
      admin.token,
    )
    expect(removed.status).toBe(200)
    await sweep()
    expect([production, staging].map(isKept)).toEqual([true, false])
    expect((await scene.request('DELETE /projects/:id', id, {}, admin.token)).status).toBe(200)
    await sweep()
    expect(isKept(production)).toBe(false)
  })

  test('404: an expired session that is not used', async () => {
    const { id } = await make({ gitProvider: 'upload' })
    const sessionId = await uploaded('v1')
    await scene.instance.database.db.updateTable('uploadSessions').set({ expiresAt: 1 }).where('id', '=', sessionId).execute()
    const { token } = scene.people.member
    const answer = await call(scene.instance, token, 'POST /deployments/build/access', {
      body: { projectId: id, uploadSessionId: sessionId },
    })
    expect([answer.status, answer.body.field]).toEqual([404, 'uploadSessionId'])
  })

  test('a session that a deployment uses does not count towards the quota of uploads', async () => {
    const { id } = await make({ gitProvider: 'upload' })
    const sessionId = await uploaded('v1')
    await versionOf(id, { uploadSessionId: sessionId })
    await versionOf(id, { uploadSessionId: await uploaded('v2') })
    const row = await scene.instance.database.db
      .selectFrom('uploadSessions')
      .select('expiresAt')
      .where('id', '=', sessionId)
      .executeTakeFirstOrThrow()
    expect(row.expiresAt).toBeGreaterThan(Date.now() + 24 * 3600_000)
  })
})

describe('the pending source and the built source are shown', () => {
  const sources: [string, () => Promise<object>, () => Promise<object>][] = [
    [
      'an upload that ensure names',
      async () => ({ gitProvider: 'upload' }),
      async () => ({ uploadSessionId: await uploaded('v2') }),
    ],
    [
      'an upload of a project of a folder',
      async () => ({ localPath: scene.source }),
      async () => ({ uploadSessionId: await uploaded('v2') }),
    ],
    ['a repository', async () => ({ gitProvider: 'upload' }), async () => ({ gitUrl: 'https://git.example.test/a/b.git' })],
  ]
  const waiting = async (id: string) => (await scene.request('GET /projects/:id', id)).body.data.pendingChanges

  test.each(sources)('%s', async (_, fields, change) => {
    const { id } = await make(await fields())
    const first = await uploaded('v1')
    await versionOf(id, { uploadSessionId: first })
    expect(await waiting(id)).toEqual([])
    const body = await change()
    const { token } = scene.people.admin
    const changed = await call(scene.instance, token, 'POST /projects/ensure', { body: { projectId: id, name: 'Shop', ...body } })
    expect(changed.status).toBe(200)
    expect(await waiting(id)).toEqual(['source'])
    if (!('uploadSessionId' in body)) return
    expect(await sourceOf(id)).toMatchObject({ kind: 'upload', uploadSessionId: body.uploadSessionId })
    await versionOf(id)
    expect(await waiting(id)).toEqual([])
    const { data } = (await scene.request('GET /projects/:id/deployments', id)).body
    const named = data.map(({ source }: { source: { uploadSessionId: string } }) => source.uploadSessionId)
    expect(named).toEqual([body.uploadSessionId, first])
    // The files of the earlier version run again, and the newest upload is pending.
    const again = (await scene.request('POST /deployments/:id/redeploy', data[1].id)).body.data.deploymentId
    expect(await scene.settled(again)).toMatchObject({ status: 'live', source: { kind: 'upload', uploadSessionId: first } })
    expect(await waiting(id)).toEqual(['source'])
  })

  test('an upload whose deployment failed is pending', async () => {
    const { id } = await make({})
    await versionOf(id, { uploadSessionId: await uploaded('v1') })
    await failedDeploy(id, { uploadSessionId: await uploaded('v2') })
    expect(await waiting(id)).toEqual(['source'])
  })
})
