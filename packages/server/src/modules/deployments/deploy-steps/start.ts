import { turnOf } from '../power.ts'
import { startUnits } from '../run-units.ts'
import { saveData, saveDeadlineMs } from './save-data.ts'
import type { DeployStep } from './step.ts'

const startDeadlineMs = 10 * 60_000

/** Starts the new version beside the old one, which goes on serving. */
export const start: DeployStep = {
  name: 'start',
  onServer: true,
  deadlineMs: saveDeadlineMs + startDeadlineMs,
  async run(deploying) {
    await saveData(deploying)
    const { deployment, env, log, deps } = deploying
    const abort = AbortSignal.any([deploying.abort, AbortSignal.timeout(startDeadlineMs)])
    const start = () => startUnits({ deployment, env, abort, deps, say: (message) => log.line(message) })
    await deps.turns.run(turnOf(deployment), start, abort)
  },
}
