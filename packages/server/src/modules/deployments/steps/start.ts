import type { DeploymentRow, InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { startOrRebuild } from '../build/rebuild.ts'
import { environmentLock } from '../power/power.ts'
import { startUnits } from '../run/run-units.ts'
import type { DeployStep, StepContext } from '../step.ts'
import { findDeployment, updateDeployment } from '../store.ts'
import { backUpBeforeStart, backupDeadlineMs } from './save-data.ts'

const startDeadlineMs = 10 * 60_000

/** Starts the new version beside the old one, which keeps serving. */
export const start: DeployStep = {
  name: 'start',
  onServer: true,
  deadlineMs: backupDeadlineMs + startDeadlineMs,
  async run(deploying) {
    await backUpBeforeStart(deploying)
    const { deployment, env, log, deps } = deploying
    const abort = AbortSignal.any([deploying.abort, AbortSignal.timeout(startDeadlineMs)])
    const start = (row: DeploymentRow) =>
      startUnits({ deployment: row, env, abort, deps, report: (message) => log.line(message) })
    const rows = await deps.locks.run(
      environmentLock(deployment),
      () => startOrRebuild(deployment, start, { deps, abort, log }),
      abort,
    )
    await saveWarnings(rows, deploying)
    return findDeployment(deps.database.db, deployment.id)
  },
}

/**
 * Warns about containers that run as root, which are less isolated, and about volumes that are not mounted (plain processes
 * without a sandbox). Logged, and stored with the deployment.
 */
async function saveWarnings(rows: readonly InstanceRow[], { deployment, log, deps }: StepContext): Promise<void> {
  const instances = await Promise.all(rows.map((row) => deps.runtimes.for(row.serverId).inspect(row.id)))
  const names = instances.flatMap((instance) => (instance?.runsAsRoot ? [instance.service || 'The app'] : []))
  const rootWarnings = names.map(
    (name) => `${name} runs as root inside its container. Add USER to its Dockerfile, or user to the service.`,
  )
  const notMounted = instances.flatMap((instance) => instance?.volumesNotMounted ?? []).map(notMountedText)
  const warnings = [...new Set([...rootWarnings, ...notMounted])]
  for (const warning of warnings) log.line(`Warning: ${warning}`)
  const text = warnings.length > 0 ? JSON.stringify(warnings) : null
  if (text === deployment.warnings) return
  await updateDeployment(deps.database.db, deployment.id, { warnings: text })
}

const notMountedText = ({ mountPath, variable }: { mountPath: string; variable: string }) =>
  `No volume is mounted at ${mountPath}: plain processes on this machine have no sandbox. Read the folder from ${variable}, or install bubblewrap.`
