import type { DeployStep } from '../step.ts'

/** Stops the containers that an adopted project replaced, once the new deployment serves. */
export const stopOldContainers: DeployStep = {
  name: 'take over',
  onServer: true,
  deadlineMs: 5 * 60_000,
  isDone: ({ deps }) => deps.oldContainers.containers === undefined,
  async run({ deployment, deps, log, abort }) {
    await deps.oldContainers.containers?.stopOldContainers(deployment, (line) => log.line(line), abort)
  },
}
