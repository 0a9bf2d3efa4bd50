import { startUnits } from '../run-units.ts'
import type { DeployStep } from './step.ts'

/** Starts the new version beside the old one, which goes on serving. */
export const start: DeployStep = {
  name: 'start',
  deadlineMs: 10 * 60_000,
  async run({ deployment, env, log, abort, deps }) {
    await startUnits({ deployment, env, abort, deps, say: (message) => log.line(message) })
  },
}
