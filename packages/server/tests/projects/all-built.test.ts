import { type AnyRoute, contract, type Method } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { newId } from '../../src/platform/db/ids.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'
import { sampleBodies } from '../kit/sample-bodies.ts'

type At = `${Method} /${string}`
const paths = Object.values(contract.projects as Record<string, AnyRoute>).flatMap((row) =>
  [row.at, ...(row.alsoAt ?? [])].map((at) => ({ at: at as At, row })),
)

describe.each(['self-hosted', 'cloud'])('on a %s instance', (mode) => {
  let instance: TestInstance
  let address: string
  let token: string
  beforeAll(async () => {
    // Nothing listens there: a request to a git host fails immediately.
    instance = await startInstance({ BERTH_MODE: mode, BERTH_GITHUB_WEB_URL: 'http://127.0.0.1:9' })
    token = (await makePeople(instance)).owner.token
    address = await instance.app.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(() => instance?.stop())

  /** Each row gets its own project, rule and upload, so that its handler is reached. */
  async function paramsFor({ path }: AnyRoute): Promise<Record<string, string>> {
    if (path.includes(':sessionId')) return { sessionId: await upload() }
    const { id } = await makeProject(instance, token, { gitProvider: 'github', gitOwner: 'acme', gitRepo: 'shop' })
    if (path.includes(':environment')) return { id, environment: 'production' }
    if (path.includes(':hostname')) return { id, hostname: await connectDomain(id) }
    if (!path.includes(':ruleId')) return { id }
    const rule = { params: { id }, body: sampleBodies['POST /projects/:id/route-rules'] }
    return { id, ruleId: (await call(instance, token, 'POST /projects/:id/route-rules', rule)).body.data?.id ?? 'rul_none' }
  }

  async function connectDomain(id: string): Promise<string> {
    const domain = `${newId('dom').replace('_', '-')}.example.test`
    await call(instance, token, 'POST /projects/:id/connect', { params: { id }, body: { domain } })
    return domain
  }

  async function upload(): Promise<string> {
    const { body } = await call(instance, token, 'POST /projects/folder/session')
    return body.data.sessionId
  }

  async function statusOf(at: At, row: AnyRoute): Promise<number> {
    const params = await paramsFor(row)
    if (row.stream) return streamStatus(row.path.replace(/:(\w+)/g, (_, name: string) => params[name]!))
    const body = row.upload ? tarball({ name: 'index.html', content: '' }) : sampleBodies[row.at]
    const headers = { authorization: `Bearer ${token}`, 'content-type': row.upload?.contentType ?? 'application/json' }
    const [method, path] = at.split(' ') as [Method, string]
    const url = `/api${path.replace(/:(\w+)/g, (_, name: string) => params[name]!)}`
    const payload = Buffer.isBuffer(body) ? body : JSON.stringify(body ?? {})
    return (await instance.app.inject({ method, url, headers, ...(method === 'GET' ? {} : { payload }) })).statusCode
  }

  async function streamStatus(path: string): Promise<number> {
    const leaving = new AbortController()
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
    const { status } = await fetch(`${address}/api${path}`, { headers, signal: leaving.signal })
    leaving.abort()
    return status
  }

  test.each(paths)('no route of projects is 501: $at', async ({ at, row }) => {
    const status = await statusOf(at, row)
    expect([500, 501]).not.toContain(status)
    const isAbsent = mode === 'cloud' && row.selfHostedOnly
    if (isAbsent) expect(status).toBe(404)
    else expect([401, 403, 404, 415]).not.toContain(status)
  })
})
