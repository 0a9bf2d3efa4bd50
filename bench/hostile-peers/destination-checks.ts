import type { Scene } from './scenario.ts'

/** Checks a hostile destination repeatedly while the instance is watched. Returns the distinct results. */
export async function checkDestination(
  { hosting, watch }: Pick<Scene, 'hosting' | 'watch'>,
  destination: { kind: 's3' | 'sftp'; config: object },
  afterEach: () => void = () => undefined,
): Promise<string> {
  const { body } = await hosting.api('POST', '/backup-destinations', { name: 'Hostile', ...destination })
  const check = () => hosting.api('POST', `/backup-destinations/${body.data.id}/check`)
  // The first check loads the client library, once for the life of the process.
  await check()
  return watch(async (until) => {
    const reasons = new Set<string>()
    while (!until.aborted) {
      const answer = await check()
      reasons.add(`${answer.status} ${answer.body.data?.reason ?? answer.body.error}`)
      afterEach()
    }
    return [...reasons].join('; ')
  })
}
