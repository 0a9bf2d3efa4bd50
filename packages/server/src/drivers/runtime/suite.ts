import { expect, test } from 'vitest'
import { buildSuite } from './suite/build-suite.ts'
import { diskSuite } from './suite/disk-suite.ts'
import { endsSuite } from './suite/ends-suite.ts'
import { instancesSuite } from './suite/instances-suite.ts'
import { missingVolumesSuite } from './suite/missing-volumes-suite.ts'
import { outputSuite } from './suite/output-suite.ts'
import { type Bench, neverAborted, openSuiteBench } from './suite/suite-bench.ts'
import { volumesSuite } from './suite/volumes-suite.ts'

export type { Bench }

/** Tests that an implementation keeps the promises in the comments of `Runtime`. */
export function runtimeSuite(prepare: () => Promise<Bench>): void {
  const suite = openSuiteBench(prepare)
  test('reports its version', async () => {
    expect((await suite.runtime.check(neverAborted)).version).toMatch(/\d/)
  })
  buildSuite(suite)
  instancesSuite(suite)
  endsSuite(suite)
  outputSuite(suite)
  volumesSuite(suite)
  missingVolumesSuite(suite)
  diskSuite(suite)
}
