import { once } from 'node:events'
import type { Scenario } from './scenario.ts'

/** The baseline: the load of the machine without an attack. */
export const noAttack: Scenario = {
  name: 'no attack (baseline)',
  async run({ watch }) {
    await watch(async (until) => {
      if (!until.aborted) await once(until, 'abort')
    })
    return '–'
  },
}
