import { once } from 'node:events'
import type { Scenario } from './scenario.ts'

/** The yardstick: what the machine itself takes. */
export const noAttack: Scenario = {
  name: 'no attack (the yardstick)',
  async run({ watch }) {
    await watch(async (until) => {
      if (!until.aborted) await once(until, 'abort')
    })
    return '–'
  },
}
