import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serve, startEchoUpstream, startEdge, type TestEdge, type TestUpstream } from '../drivers/edge/edge-fixture.ts'
import type { EdgeRule } from './protocol/edge-table.ts'

/** Deliveries of git hosts that come to the host name of a project go to the control plane. */
let edge: TestEdge
let [project, control] = [] as unknown as [TestUpstream, TestUpstream]
beforeAll(async () => {
  edge = await startEdge()
  project = await startEchoUpstream()
  control = await startEchoUpstream()
  const noOne: EdgeRule = { id: 'none', kind: 'allow-deny', enabled: true, config: { allow: ['203.0.113.1'] } }
  const deliveries = {
    hostnames: ['hooks.test', 'new.test', 'guarded.test', 'asleep.test'],
    to: { host: control.host, port: control.port },
    key: 'k1',
  }
  await edge.route(
    {
      'hooks.test': serve(project),
      'other.test': serve(project),
      'guarded.test': { ...serve(project), rules: [noOne] },
      'asleep.test': { target: { kind: 'sleeping', projectId: 'p' } },
    },
    { deliveries },
  )
})
afterAll(async () => {
  await edge?.end()
  await Promise.all([project?.close(), control?.close()])
})

const path = '/api/webhooks/git/github?hook=gwh_1'
const request = async (host: string, at = path, method = 'POST', headers: Record<string, string> = {}) => {
  const { status, body } = await edge.request(host, at, { method, headers, body: method === 'POST' ? 'x' : '' })
  return { status, heard: body.startsWith('{') ? JSON.parse(body).headers : null }
}

describe('a webhook delivery', () => {
  test.each(['hooks.test', 'new.test', 'guarded.test', 'asleep.test'])(
    'to %s is forwarded to the control plane with the address of the sender',
    async (host) => {
      const { status, heard } = await request(host)
      expect([status, heard['berth-edge'], heard.host.split(':')[0]]).toEqual([200, 'k1 127.0.0.1 http', host])
    },
  )

  test('with a forged sender gets the sender that the edge sees', async () => {
    const { heard } = await request('hooks.test', path, 'POST', {
      'berth-edge': 'k1 203.0.113.9',
      'x-forwarded-for': '203.0.113.9',
    })
    expect([heard['berth-edge'], heard['x-forwarded-for']]).toEqual(['k1 127.0.0.1 http, k1 203.0.113.9', '127.0.0.1'])
  })

  test.each([
    ['hooks.test', '/api/webhooks/git/github', 'GET'],
    ['hooks.test', '/api/webhooks/git/../../projects', 'POST'],
    ['hooks.test', '/api/webhooks/git/github/../x', 'POST'],
    ['hooks.test', '/api/webhooks/git/%67ithub', 'POST'],
    ['hooks.test', '/api/webhooks/backup', 'POST'],
    ['hooks.test', '/api/projects', 'POST'],
    ['other.test', path, 'POST'],
  ])('is not recognised in other requests: %s %s %s is forwarded to the project', async (host, at, method) => {
    const { status, heard } = await request(host, at, method)
    expect([status, heard?.['berth-edge']]).toEqual([200, undefined])
  })

  test('to a host that is no longer in the table is 404', async () => {
    expect((await request('gone.test')).status).toBe(404)
    await edge.route({}, { deliveries: undefined as never })
    expect((await request('new.test')).status).toBe(404)
  })
})
