import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployUnderLoad } from '../kit/deploy-mix.ts'
import { type Hosting, startHosting } from '../kit/hosting.ts'
import { describeOnRuntimes } from '../kit/runtimes.ts'

describeOnRuntimes('deployments under constant load through the edge', (runtime) => {
  let hosting: Hosting
  beforeAll(async () => {
    hosting = await startHosting({ runtime })
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  test('a good deploy fails no request; a bad one leaves the old version serving', async () => {
    // Containers take longer to start: each manner once. Many more are bench/deploys.ts.
    const { outcomes, load } = await deployUnderLoad(hosting, runtime === 'docker' ? 6 : 12)
    const expected = { good: 'live', slow: 'live', crashing: 'failed', unhealthy: 'failed', cancelled: 'cancelled' }
    let serving = 'version 0'
    outcomes.forEach(({ manner, deployment, servedAfter }, at) => {
      expect(
        ['live', 'superseded'].includes(deployment.status) ? 'live' : deployment.status,
        `${at + 1} ${manner} ${JSON.stringify(deployment.error)}`,
      ).toBe(expected[manner])
      if (expected[manner] === 'live') serving = `version ${at + 1}`
      expect(servedAfter).toBe(serving)
      if (expected[manner] === 'live') {
        expect(deployment.requestsDuringSwitch).toMatchObject({ failed: 0 })
        expect(deployment.requestsDuringSwitch?.total).toBeGreaterThan(0)
      } else expect(deployment.requestsDuringSwitch).toBeNull()
    })
    expect(load.failures).toEqual([])
    expect(load.requests).toBeGreaterThan(500)
    expect([...load.bodies.keys()]).not.toContain('broken')
    const instances = await hosting.api('GET', `/projects/${outcomes[0]?.deployment.projectId}/deletion-preview`)
    expect(instances.body.data.items.filter(({ kind }: { kind: string }) => kind === 'instance')).toHaveLength(1)
  })
})
