import { afterEach, expect, test } from 'vitest'
import {
  eventually,
  serve,
  startEdge,
  startUpstream,
  type TestEdge,
  type TestUpstream,
  testSettings,
} from '../drivers/edge/edge-fixture.ts'
import { EmbeddedEdge } from '../drivers/edge/embedded-edge.ts'
import type { TrafficMinute } from './protocol/traffic.ts'

let edge: TestEdge | undefined
let upstream: TestUpstream | undefined
afterEach(async () => {
  await edge?.end()
  await upstream?.close()
})

/** Keeps the latest value of each counter and minute. */
class Known {
  readonly #minutes = new Map<string, TrafficMinute>()
  readonly hear = (minutes: TrafficMinute[]) => {
    for (const minute of minutes) this.#minutes.set(`${minute.counter} ${minute.at}`, minute)
  }
  sum(name: 'requests' | 'errors4xx' | 'errors5xx' | 'bytesOut', environment: string): number {
    return [...this.#minutes.values()].filter((one) => one.environment === environment).reduce((sum, one) => sum + one[name], 0)
  }
}

test.each([1, 3])(
  'every request of an environment is counted once, with %i workers, also by the next control plane',
  async (workers) => {
    const known = new Known()
    edge = await startEdge({ workers })
    edge.driver.onTraffic(known.hear)
    upstream = await startUpstream((request, response) => {
      response.statusCode = Number(request.url?.slice(1)) || 200
      response.end('12345')
    })
    const host = serve(upstream)
    await edge.route({ 'a.test': { ...host, environment: 'production' }, 'b.test': { ...host, environment: 'preview' } })
    const paths = ['/', '/200', '/404', '/404', '/503']
    await Promise.all([...paths, ...paths].map((path) => edge!.request('a.test', path)))
    await edge.request('b.test', '/')
    await eventually(() => known.sum('requests', 'production') === 10 && known.sum('requests', 'preview') === 1)
    expect(['errors4xx', 'errors5xx', 'bytesOut'].map((name) => known.sum(name as 'bytesOut', 'production'))).toEqual([4, 2, 50])

    // The control plane dies; the edge continues, and the next control plane receives all counts.
    await edge.driver.stop({ keepServing: true })
    await edge.request('a.test', '/')
    const next = new Known()
    const driver = new EmbeddedEdge({ ...testSettings(edge.folder), workers })
    driver.onTraffic(next.hear)
    await driver.start()
    await eventually(() => next.sum('requests', 'production') === 11)
    await edge.request('a.test', '/')
    // The last counts are sent before the edge ends.
    await driver.stop({ keepServing: false, graceMs: 500 })
    expect(next.sum('requests', 'production')).toBe(12)
  },
  60_000,
)
