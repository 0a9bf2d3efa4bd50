import type { Parts } from '../../src/instance/assemble/assemble.ts'

/** Checks of live projects as often as a test wants to see their results. The order and the number of checks stay the same. */
export const quickWatch: NonNullable<Parts['watchIntervals']> = {
  tickMs: 100,
  listMs: 200,
  checks: { firstMs: 400, maxMs: 1_000 },
}
