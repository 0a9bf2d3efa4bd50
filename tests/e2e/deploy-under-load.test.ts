import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployUnderLoad, problemsOf } from '../kit/deploy-mix.ts'
import { type Hosting, startHosting } from '../kit/hosting.ts'
import { describeOnRuntimes } from '../kit/runtimes.ts'

describeOnRuntimes('deployments under constant load through the edge', (runtime) => {
  let hosting: Hosting
  beforeAll(async () => {
    hosting = await startHosting({ runtime })
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  test('a good deployment fails no request; a bad one leaves the old version serving', async () => {
    // Containers take longer to start: each manner once. Many more are bench/deploys.ts.
    const result = await deployUnderLoad(hosting, runtime === 'docker' ? 6 : 12)
    expect(problemsOf(result)).toEqual([])
    expect(result.load.requests).toBeGreaterThan(500)
    const [first] = result.outcomes
    const instances = await hosting.api('GET', `/projects/${first?.deployment.projectId}/deletion-preview`)
    expect(instances.body.data.items.filter(({ kind }: { kind: string }) => kind === 'instance')).toHaveLength(1)
  })
})
