import { expect, test } from 'vitest'
import { type Finding, type Fuzzed, fuzz, replay, seedsFolder } from './runner.ts'

/** The two tests of a fuzzed area: earlier findings are tried again, then new inputs for some seconds. */
export function gateTests(area: string, kinds: readonly Fuzzed[], { seconds }: { seconds: number }): void {
  test('earlier findings stay fixed', async () => {
    const { findings } = await replay(kinds, seedsFolder(area))
    expect(findings, findings.map(inWords).join('\n')).toEqual([])
  })

  test(`no new finding in ${seconds} seconds`, async () => {
    const { tried, finding } = await fuzz(kinds, { seconds })
    expect(finding, finding && inWords(finding)).toBeUndefined()
    for (const { name } of kinds) expect(tried[name]).toBeGreaterThan(0)
  })
}

/** Long enough to repeat the finding by hand, short enough for a report. */
const inWords = ({ name, input, error }: Finding) =>
  `${name} with ${JSON.stringify(input).slice(0, 4_000)}: ${error.slice(0, 2_000)}`
