import { InMemoryEdge } from '../../../tests/kit/memory-runtime.ts'
import { startEdge } from './edge-fixture.ts'
import { describeEdge } from './suite.ts'

describeEdge('the embedded edge', async () => {
  const edge = await startEdge()
  return {
    driver: edge.driver,
    // Held, and broken off when the edge ends.
    request: (hostname) => void edge.request(hostname).catch(() => undefined),
    serves: async (hostname) => (await edge.request(hostname)).status !== 404,
    close: () => edge.end(),
  }
})

describeEdge('the edge of API tests', async () => {
  const driver = new InMemoryEdge()
  return {
    driver,
    request(hostname) {
      const target = driver.table.hosts[hostname]?.target
      if (target?.kind === 'sleeping') driver.wake(target.projectId, hostname)
    },
    serves: async (hostname) => hostname in driver.table.hosts,
    close: async () => {},
  }
})
