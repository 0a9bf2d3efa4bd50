import { describeNeeding, partOf } from '../../../../../tests/kit/machine.ts'
import { InMemoryEdge } from '../../../tests/kit/memory-runtime.ts'
import type { EdgeDriver } from './edge.ts'
import { startEdge, startNginxEdge, type TestEdge } from './edge-fixture.ts'
import { describeEdge, type SuiteEdge } from './suite.ts'

const sceneOf = (edge: TestEdge<EdgeDriver>): SuiteEdge => ({
  driver: edge.driver,
  // Held, and broken off when the edge ends.
  request: (hostname) => void edge.request(hostname).catch(() => undefined),
  serves: async (hostname) => (await edge.request(hostname)).status !== 404,
  close: () => edge.end(),
})

describeEdge('the embedded edge', async () => sceneOf(await startEdge()))

describeNeeding(['nginx'], 'nginx', () => {
  describeEdge('the edge with nginx', async () => sceneOf(await startNginxEdge(partOf('nginx'))))
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
