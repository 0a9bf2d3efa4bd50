import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Scenario } from './scenario.ts'

const [projects, connections] = [200, 256]
/** Pause between two waves of connections. */
const everyMs = 1_000

/** A viewer repeatedly opens many connections to the longest list and disconnects before the response. */
const abandoned = (name: string, requestsEach: number): Scenario => ({
  name,
  env: { BERTH_QUOTA_PROJECTS: '1000' },
  async run({ hosting, watch }) {
    for (let at = 0; at < projects; at++) await hosting.makeProject({ name: `abandoned-${at}`, kind: 'service' })
    const { token } = (await hosting.api('POST', '/tokens', { name: 'reader' })).body.data
    const { hostname, port } = new URL(hosting.berth.url)
    const head = `GET /api/projects?limit=200 HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${token}\r\n\r\n`
    const visit = () =>
      new Promise<void>((resolve) => {
        const socket = connect(Number(port), hostname, () => socket.write(head.repeat(requestsEach)))
        socket.on('error', () => {}).on('close', () => resolve())
        setTimeout(() => socket.resetAndDestroy(), 30)
      })
    // The first response compiles its serializer.
    await hosting.api('GET', '/projects?limit=200')
    const count = await watch(async (until) => {
      let visits = 0
      while (!until.aborted) {
        await Promise.all(Array.from({ length: connections }, visit))
        visits += connections
        await pause(everyMs)
      }
      return visits
    })
    const listed = await hosting.api('GET', '/projects?limit=200')
    return `${count * requestsEach} requests abandoned; the next list: ${listed.status}`
  },
})

export const abandonedRequests = abandoned('abandoned requests for a list', 1)
export const abandonedPipelines = abandoned('abandoned requests for a list, 50 on each connection', 50)
