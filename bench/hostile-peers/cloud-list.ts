import { serve } from '../../tests/kit/http-server.ts'
import type { Scenario } from './scenario.ts'

const headers = { 'x-request-id': 'req_1', 'content-type': 'application/json' }
const large = `{"data":[${Array.from({ length: 3_200 }, () => JSON.stringify({ id: 'prj_x', createdAt: '2020', name: 'x'.repeat(10_000) })).join(',')}]}`

/** A linked cloud that answers every request for its projects with 32 MB. */
export const cloudList: Scenario = {
  name: 'a linked cloud that lists 32 MB of projects',
  async run({ hosting, watch, defer }) {
    let lists = 0
    const cloud = await serve((request, response) => {
      request.resume()
      response.writeHead(200, headers)
      const { pathname } = new URL(request.url ?? '', 'http://cloud')
      if (pathname === '/api/health') return void response.end('{"data":{"status":"ok","mode":"cloud","version":"1.0.0"}}')
      if (pathname === '/api/auth/session') return void response.end(session)
      lists += 1
      response.end(large)
    })
    defer(() => cloud.close())
    const linked = await hosting.api('PUT', '/cloud/link', { url: cloud.url, token: `brt_${'a'.repeat(40)}` })
    if (linked.status !== 200) throw new Error(`not linked: ${linked.status} ${linked.body.error}`)
    return watch(async (until) => {
      const answers = new Set<string>()
      while (!until.aborted) {
        const { status, body } = await hosting.api('GET', '/projects/home')
        answers.add(`home ${status}, reachable ${body.cloud?.reachable}, ${body.data?.length} projects`)
      }
      return `${lists} lists; ${[...answers].join('; ')}`
    })
  },
}

const session = JSON.stringify({
  data: { organization: { id: 'org_aaaaaaaaaaaaaaaaaaaa' }, expiresAt: null, token: { expiresAt: null }, scopes: null },
})
