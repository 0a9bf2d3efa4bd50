import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiAndWorker, startApiAndWorker } from '../kit/api-and-worker.ts'
import type { Hosting } from '../kit/hosting.ts'
import { describeNeeding } from '../kit/machine.ts'
import type { Berth } from '../kit/start-berth.ts'

describeNeeding(['postgres'], 'an API process and a worker on one PostgreSQL', () => {
  let started: ApiAndWorker
  let worker: Berth
  let hosting: Hosting
  beforeAll(async () => {
    started = await startApiAndWorker('postgres')
    ;({ worker, hosting } = started)
  })
  afterAll(() => started?.[Symbol.asyncDispose]())

  const workerState = async () => (await hosting.api('GET', '/health')).body.data.worker
  const makeNode = async (name: string) => hosting.makeProject({ name, localPath: await hosting.copyExample('node') })

  test('a project created, deployed and followed through the API process runs on the worker', async () => {
    await expect.poll(workerState).toBe('ok')
    const project = await makeNode('Shop')
    const id = await hosting.deploy(project.id)
    const followed = await hosting.stream(`/deployments/${id}/stream`, AbortSignal.timeout(120_000))
    let events = ''
    for await (const chunk of followed) events += Buffer.from(chunk)
    expect(events).toContain('event: complete')
    expect(await hosting.deployment(id)).toMatchObject({ status: 'live' })
    expect((await hosting.get(`${project.slug}.localhost`)).status).toBe(200)
    expect((await hosting.api('GET', `/projects/${project.id}/logs`)).status).toBe(200)
    const { body } = await hosting.api('GET', '/audit-log')
    expect(body.data.map(({ ip }: { ip: string }) => ip)).toContain('127.0.0.1')
  })

  test('the worker refuses requests that were not forwarded by an API process, even with a forged header', async () => {
    const url = `${worker.url}/api/auth/session`
    expect((await fetch(url)).status).toBe(403)
    expect((await fetch(url, { headers: { 'berth-api': 'guessed 10.0.0.1 https' } })).status).toBe(403)
    expect((await fetch(`${worker.url}/api/health`)).status).toBe(200)
  })

  test('without the worker, reads from the database work and other requests return 503; they work again after a restart of the worker', async () => {
    const project = await makeNode('Later')
    await worker.kill9()
    await expect.poll(workerState).toBe('away')
    expect((await hosting.api('GET', '/auth/session')).status).toBe(200)
    const before = (await hosting.api('GET', `/projects/${project.id}`)).body.data
    expect(before.routes).toMatchObject([{ hostname: `${project.slug}.localhost` }])
    const logs = await hosting.api('GET', `/projects/${project.id}/logs`)
    expect(logs).toMatchObject({ status: 503, body: { code: 'unavailable', error: expect.stringContaining('worker') } })
    const [, read] = await Promise.all([worker.restart(), retried(() => hosting.api('GET', `/projects/${project.id}/logs`))])
    expect(read.status).toBe(200)
    await expect.poll(workerState).toBe('ok')
    expect(await hosting.settled(await hosting.deploy(project.id))).toMatchObject({ status: 'live' })
  })

  test('a suspended worker is reported as away, and requests that do not need it are answered', async () => {
    process.kill(worker.pid, 'SIGSTOP')
    try {
      await expect.poll(workerState).toBe('away')
      expect((await hosting.api('GET', '/organizations')).status).toBe(200)
    } finally {
      process.kill(worker.pid, 'SIGCONT')
    }
    await expect.poll(workerState).toBe('ok')
  })

  test('uploads and command output pass through the API process, which can stop while a stream is open', async () => {
    const folder = await hosting.copyExample('node')
    const login = await hosting.cli(['login', '--email', 'owner@example.test', '--password-stdin'], {
      input: 'correct horse battery',
    })
    expect(login.code, login.stderr).toBe(0)
    const deployed = await hosting.cli(['deploy', '--name', 'Uploaded'], { cwd: folder })
    expect(deployed.code, deployed.stderr).toBe(0)
    const { data } = (await hosting.api('GET', '/projects')).body
    const { id } = data.find(({ name }: { name: string }) => name === 'Uploaded')
    await hosting.stream(`/projects/${id}/logs/stream`, AbortSignal.timeout(60_000))
    expect(await hosting.berth.stop()).toBe(0)
    await hosting.berth.restart()
  })

  test('a deployment continues after its API process is killed', async () => {
    const project = await makeNode('Alone')
    const id = await hosting.deploy(project.id)
    await hosting.berth.kill9()
    await hosting.berth.restart()
    expect(await hosting.settled(id)).toMatchObject({ status: 'live' })
  })
})

/** A client's own retry of 503, as Retry-After asks for. */
async function retried<Answer extends { status: number }>(send: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 0; ; attempt++) {
    const answer = await send()
    if (answer.status !== 503 || attempt === 20) return answer
  }
}

describe('an API process and a worker on the data folder of one SQLite database', () => {
  let started: ApiAndWorker
  let worker: Berth
  let hosting: Hosting
  beforeAll(async () => {
    started = await startApiAndWorker('sqlite')
    ;({ worker, hosting } = started)
  })
  afterAll(() => started?.[Symbol.asyncDispose]())

  test('each process reads what the other writes, and each can be killed', async () => {
    const project = await hosting.makeProject({ name: 'Shared', localPath: await hosting.copyExample('node') })
    const id = await hosting.deploy(project.id)
    await hosting.berth.kill9()
    await hosting.berth.restart()
    expect(await hosting.settled(id)).toMatchObject({ status: 'live' })
    const routes = async () => (await hosting.api('GET', `/projects/${project.id}`)).body.data.routes
    expect(await routes()).toMatchObject([{ state: 'synced' }])
    await worker.kill9()
    expect(await routes()).toMatchObject([{ state: 'synced' }])
    const { body } = await hosting.api('POST', '/tokens', { name: 'made while the worker is away' })
    await worker.restart()
    const token = body.data.token
    const read = await fetch(`${hosting.berth.url}/api/projects/${project.id}/logs`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(read.status).toBe(200)
    expect(await hosting.settled(await hosting.deploy(project.id))).toMatchObject({ status: 'live', number: 2 })
  })
})
