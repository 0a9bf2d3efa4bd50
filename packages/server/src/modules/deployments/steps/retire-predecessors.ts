import type { DeployStep } from '../step.ts'

/** What an adopted project ran as before stops once the new version serves. */
export const retirePredecessors: DeployStep = {
  name: 'take over',
  onServer: true,
  deadlineMs: 5 * 60_000,
  isDone: ({ deps }) => deps.predecessors.containers === undefined,
  async run({ deployment, deps, log, abort }) {
    await deps.predecessors.containers?.retire(deployment, (line) => log.line(line), abort)
  },
}
