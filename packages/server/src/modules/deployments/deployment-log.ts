import type { DeploymentStep } from '@berth/contract'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import { type DeploymentsDeps, nowOf } from './deps.ts'
import { updateDeployment } from './store.ts'

/** News of one deployment for those who look on: something of its row changed. */
export const deploymentTopic = (deploymentId: string) => `deployment:${deploymentId}`

export interface DeploymentLog {
  /** A line of what runs, or of ours. The project's secrets are scrubbed before it is kept. */
  line(message: string, stream?: 'stdout' | 'stderr' | 'system'): void
  /** Marks a step; the row and those who look on know at once. */
  step(name: string, status: DeploymentStep['status']): Promise<void>
  /** All steps with this one done, to be written together with what it did; `step` then tells those who look on. */
  stepsWithDone(name: string): string
  /** Not done in this run; a step that an earlier run has done keeps its times. */
  skipped(name: string): Promise<void>
  /** The last lines, for the error. */
  tail(count: number): string[]
  flush(): Promise<void>
}

export async function openDeploymentLog(deployment: DeploymentRow, deps: DeploymentsDeps): Promise<DeploymentLog> {
  const scrubber = await deps.scrubbers.of(deployment.projectId)
  const steps = JSON.parse(deployment.steps) as DeploymentStep[]
  const recent: string[] = []
  let current: string | null = null
  let written: Promise<unknown> = Promise.resolve()
  const mark = (name: string, status: DeploymentStep['status']): DeploymentStep => {
    const known = steps.find((step) => step.name === name)
    const step = known ?? { name, status, startedAt: null, finishedAt: null }
    if (!known) steps.push(step)
    const isMarked = step.status === status && step.finishedAt !== null
    const at = new Date(nowOf(deps)).toISOString()
    step.status = status
    if (status === 'running') Object.assign(step, { startedAt: at, finishedAt: null })
    else if (!isMarked) step.finishedAt = at
    return step
  }
  const log: DeploymentLog = {
    line(text, stream = 'system') {
      const message = scrubber.scrub(text)
      recent.push(message)
      if (recent.length > 200) recent.shift()
      written = deps.logStore
        .append(deployment.projectId, 'deployments', [{ deploymentId: deployment.id, step: current, stream, message }])
        .catch((error: unknown) =>
          deps.log.warn({ err: error, deploymentId: deployment.id }, 'a line of a deployment was not kept'),
        )
    },
    async step(name, status) {
      await written
      current = name
      const step = mark(name, status)
      await updateDeployment(deps.database.db, deployment.id, { steps: JSON.stringify(steps) })
      deps.database.signals.publish(deploymentTopic(deployment.id), { step: { ...step } })
    },
    stepsWithDone(name) {
      mark(name, 'succeeded')
      return JSON.stringify(steps)
    },
    async skipped(name) {
      if (!steps.some((step) => step.name === name && step.status === 'succeeded')) await log.step(name, 'skipped')
    },
    tail: (count) => recent.slice(-count),
    flush: async () => {
      await written
    },
  }
  return log
}
