import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, keepRequesting, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeOnRuntimes } from '../kit/runtimes.ts'

describeOnRuntimes('route rules on the edge', (runtime) => {
  let hosting: Hosting
  let project: { id: string; slug: string }
  beforeAll(async () => {
    hosting = await startHosting({ runtime })
    await writeApp(join(hosting.folder, 'ruled'), serving('ruled'))
    project = await hosting.makeProject({ name: 'ruled', localPath: join(hosting.folder, 'ruled') })
    expect(await hosting.settled(await hosting.deploy(project.id))).toMatchObject({ status: 'live' })
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const request = async (path: string, headers = {}) => (await hosting.get(`${project.slug}.localhost`, path, headers)).status
  const addRule = async (rule: object) => {
    const answer = await hosting.api('POST', `/projects/${project.id}/route-rules`, { enabled: true, ...rule })
    expect(answer).toMatchObject({ status: 201 })
    return answer.body.data.id as string
  }
  const inForce = (path: string, status: number, headers = {}) =>
    expect.poll(() => request(path, headers), { interval: 50 }).toBe(status)
  /** Rules reach the edge together and in order: once a later rule applies, all earlier ones do. */
  const takenUp = async (path: string) => {
    await addRule({ kind: 'ban', pathPrefix: path, config: { ips: ['127.0.0.1'] } })
    await inForce(path, 403)
  }
  const hitsOf = async (id: string): Promise<number> => {
    const { body } = await hosting.api('GET', `/projects/${project.id}/route-rules`)
    return body.data.find((rule: { id: string }) => rule.id === id).hits
  }

  test('ban: a banned address and a banned user agent get 403, others pass; hits are counted', async () => {
    const id = await addRule({ kind: 'ban', pathPrefix: '/ban', config: { ips: ['127.0.0.1'] } })
    await inForce('/ban/x', 403)
    expect([await request('/'), await request('/other')]).toEqual([200, 200])
    await addRule({ kind: 'ban', pathPrefix: '/agent', config: { userAgents: ['BadBot'] } })
    await inForce('/agent', 403, { 'user-agent': 'badbot/1.0' })
    expect(await request('/agent', { 'user-agent': 'browser' })).toBe(200)
    const before = await hitsOf(id)
    await Promise.all([1, 2, 3].map(() => request('/ban')))
    await expect.poll(() => hitsOf(id)).toBeGreaterThanOrEqual(before + 3)
  })

  test('rate-limit: the given number of requests passes, further ones get 429', async () => {
    const id = await addRule({ kind: 'rate-limit', pathPrefix: '/limit', config: { requests: 5, windowSeconds: 600 } })
    await inForce('/limit', 429)
    expect(await request('/')).toBe(200)
    await hosting.api('DELETE', `/projects/${project.id}/route-rules/${id}`)
    await inForce('/limit', 200)
    await addRule({ kind: 'rate-limit', pathPrefix: '/fresh', config: { requests: 3, windowSeconds: 600, status: 503 } })
    await takenUp('/after-fresh')
    const answers = []
    for (let at = 0; at < 6; at++) answers.push(await request('/fresh'))
    expect(answers).toEqual([200, 200, 200, 503, 503, 503])
  })

  test('allow-deny: denied clients and clients that are not allowed get 403; allowed clients pass', async () => {
    await addRule({ kind: 'allow-deny', pathPrefix: '/denied', config: { deny: ['127.0.0.0/8'], allow: ['127.0.0.1/32'] } })
    await addRule({ kind: 'allow-deny', pathPrefix: '/allowed', config: { allow: ['127.0.0.0/8'] } })
    await addRule({ kind: 'allow-deny', pathPrefix: '/foreign', config: { allow: ['10.0.0.0/8'] } })
    await inForce('/denied', 403)
    await inForce('/foreign', 403)
    expect(await request('/allowed')).toBe(200)
  })

  test('dryRun counts hits and lets requests pass', async () => {
    const id = await addRule({ kind: 'ban', dryRun: true, pathPrefix: '/dry', config: { ips: ['127.0.0.1'] } })
    await takenUp('/after-dry')
    expect(await Promise.all([1, 2, 3, 4].map(() => request('/dry')))).toEqual([200, 200, 200, 200])
    await expect.poll(() => hitsOf(id)).toBe(4)
  })

  // Within which time is bench/rules.ts.
  test('a rule takes effect at once, and no connection is dropped', async () => {
    const requesting = keepRequesting(hosting.berth.edgeUrl, `${project.slug}.localhost`, { connections: 8 })
    for (let round = 0; round < 5 || requesting.load.requests <= 50; round++) {
      const id = await addRule({ kind: 'ban', pathPrefix: `/quick${round}`, config: { ips: ['127.0.0.1'] } })
      await inForce(`/quick${round}`, 403)
      await hosting.api('DELETE', `/projects/${project.id}/route-rules/${id}`)
    }
    expect((await requesting.stop()).failures).toEqual([])
    expect(requesting.load.requests).toBeGreaterThan(50)
  })
})
