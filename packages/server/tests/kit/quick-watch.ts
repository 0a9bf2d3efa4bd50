import type { Parts } from '../../src/instance/assemble/assemble.ts'

/** Short intervals between the checks of live projects. The order and the number of checks stay the same. */
export const quickWatch: NonNullable<Parts['watchIntervals']> = {
  tickMs: 100,
  listMs: 200,
  checks: { firstMs: 400, maxMs: 1_000 },
}
