import { turnOf } from '../power.ts'
import { startUnits } from '../run-units.ts'
import type { DeployStep } from './step.ts'

/** Starts the new version beside the old one, which goes on serving. */
export const start: DeployStep = {
  name: 'start',
  onServer: true,
  deadlineMs: 10 * 60_000,
  async run({ deployment, env, log, abort, deps }) {
    const start = () => startUnits({ deployment, env, abort, deps, say: (message) => log.line(message) })
    await deps.turns.run(turnOf(deployment), start, abort)
  },
}
