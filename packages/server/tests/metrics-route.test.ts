// gate: also on PostgreSQL, since the database counts and adds up
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UsageTotals } from '../src/modules/deployments/logs/usage-totals.ts'
import { type Scene, setScene } from './deployments/scene.ts'
import { makePeople, makeToken } from './kit/people.ts'

const metricsToken = 'scrape-me-with-this-token'
let scene: Scene
beforeAll(async () => {
  scene = await setScene({}, { BERTH_METRICS_TOKEN: metricsToken })
})
afterAll(() => scene?.end())

const scrape = async (authorization?: string, headers: Record<string, string> = {}) => {
  const answer = await scene.instance.app.inject({
    url: '/metrics',
    headers: { host: 'berth.test', ...(authorization ? { authorization } : {}), ...headers },
  })
  return { status: answer.statusCode, text: answer.body, headers: answer.headers }
}

describe('permission to scrape', () => {
  test('the metrics token, and the token of an operator', async () => {
    const narrow = await makeToken(scene.instance, scene.people.owner, { scopes: ['organization:read'] })
    for (const token of [metricsToken, narrow, scene.people.owner.token, scene.people.admin.token]) {
      const { status, text, headers } = await scrape(`Bearer ${token}`)
      expect({ status, type: headers['content-type'] }).toEqual({
        status: 200,
        type: expect.stringMatching(/^text\/plain.*version=0\.0\.4/),
      })
      expect(text).toContain('berth_build_info{version="0.0.0-test",mode="self-hosted"} 1')
    }
  })

  test.each([
    ['no token', () => undefined],
    ['an empty token', () => 'Bearer '],
    ['the beginning of the token', () => `Bearer ${metricsToken.slice(0, -1)}`],
    ['the token and more', () => `Bearer ${metricsToken}x`],
    ['the token as a password', () => `Basic ${Buffer.from(`x:${metricsToken}`).toString('base64')}`],
    ['an unknown personal token', () => 'Bearer brt_unknown'],
    ['the token of a member', () => `Bearer ${scene.people.member.token}`],
    ['the token of a viewer', () => `Bearer ${scene.people.viewer.token}`],
  ])('%s: 401, and no metrics', async (_who, authorization) => {
    const { status, text, headers } = await scrape(authorization())
    expect({ status, challenge: headers['www-authenticate'] }).toEqual({ status: 401, challenge: 'Bearer' })
    expect(text).not.toContain('berth_')
  })

  test('401: the owner of another organisation, and a token of an operator with other permissions or limited to projects', async () => {
    const { userId, organizationId } = scene.people.owner
    const project = await scene.makeApp()
    const tokens = [
      (await makePeople(scene.instance)).owner.token,
      await makeToken(scene.instance, { userId, organizationId }, { scopes: ['project:read'] }),
      await makeToken(scene.instance, { userId, organizationId }, { projectIds: [project.id] }),
    ]
    for (const token of tokens) expect((await scrape(`Bearer ${token}`)).status).toBe(401)
  })
})

describe('the text of the metrics', () => {
  test('keeps a hostile project name inside its label', async () => {
    const name = 'a"} 1\nberth_evil{x="\\'
    await scene.instance.database.db
      .updateTable('projects')
      .set({ name })
      .where('id', '=', (await scene.makeApp()).id)
      .execute()
    const { text } = await fresh()
    expect(text).not.toMatch(/^berth_evil/m)
    expect(text).toContain(String.raw`name="a\"} 1\nberth_evil{x=\"\\"`)
  })

  test('contains the queue, the database, the API and each project', async () => {
    const project = await scene.makeApp()
    const { text } = await fresh()
    expect(text).toMatch(new RegExp(`^berth_project_info\\{project="[^"]+",project_id="${project.id}",`, 'm'))
    for (const name of [
      'berth_jobs_oldest_due_seconds',
      'berth_database_response_seconds',
      'berth_database_size_bytes',
      'berth_api_requests_total',
      'berth_edge_in_sync',
      'berth_environments',
      'process_cpu_seconds_total',
    ])
      expect(text).toMatch(new RegExp(`^${name}(?:\\{[^}]*\\})? [\\d.e+-]+$`, 'm'))
  })

  test('is accepted by promtool', async (context) => {
    const { error } = spawnSync('promtool', ['--version'])
    if (error) context.skip('promtool is not installed')
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: (await fresh()).text,
      encoding: 'utf8',
    })
    expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' })
  })
})

/** A scrape by another control plane on the same database: it has no text from before. */
async function fresh() {
  const other = scene.instance.another()
  await other.app.inject({ url: '/api/health', headers: { host: 'berth.test' } })
  const answer = await other.app.inject({
    url: '/metrics',
    headers: { host: 'berth.test', authorization: `Bearer ${metricsToken}` },
  })
  expect(answer.statusCode).toBe(200)
  return { text: answer.body }
}

test('has no usage of a deleted environment', () => {
  const totals = new UsageTotals()
  totals.addCpu('prj_1', 'production', 1500)
  totals.addCpu('prj_2', 'production', 500)
  totals.keepOnly([{ projectId: 'prj_1', slug: 'production' }])
  expect([totals.cpuSeconds('prj_1', 'production'), totals.cpuSeconds('prj_2', 'production')]).toEqual([1.5, undefined])
})
