import type { DeploymentStep } from '@berth/contract'
import { deploymentJson } from '../../platform/db/json-columns/deployments.ts'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import { type DeploymentsDeps, nowOf } from './deps.ts'
import { updateDeployment } from './store.ts'

/** Signal topic of a deployment: its row changed. */
export const deploymentTopic = (deploymentId: string) => `deployment:${deploymentId}`

export interface DeploymentLog {
  /** Writes a log line. The project's secrets are scrubbed first. */
  line(message: string, stream?: 'stdout' | 'stderr' | 'system'): void
  /** Writes a line of the step unless an earlier run has written it. */
  lineOnce(step: string, message: string): Promise<void>
  /** Marks a step in the row and notifies open streams. */
  step(name: string, status: DeploymentStep['status']): Promise<void>
  /** The steps with this one done, to be written in the same transaction as its result; `step` then notifies open streams. */
  stepsWithDone(name: string): string
  /** Marks a step as skipped in this run; one that an earlier run completed keeps its times. */
  skipped(name: string): Promise<void>
  /** The last lines, for the error. */
  tail(count: number): string[]
  /** Resolves when the lines are on disk. */
  flush(): Promise<void>
}

export async function openDeploymentLog(deployment: DeploymentRow, deps: DeploymentsDeps): Promise<DeploymentLog> {
  const scrubber = await deps.scrubbers.of(deployment.projectId)
  const steps = deploymentJson.steps(deployment)
  const recent: string[] = []
  let current: string | null = null
  let lastWrite: Promise<unknown> = Promise.resolve()
  const updateStep = (name: string, status: DeploymentStep['status']): DeploymentStep => {
    const existing = steps.find((step) => step.name === name)
    const step = existing ?? { name, status, startedAt: null, finishedAt: null }
    if (!existing) steps.push(step)
    const isAlreadyFinished = step.status === status && step.finishedAt !== null
    const at = new Date(nowOf(deps)).toISOString()
    step.status = status
    if (status === 'running') Object.assign(step, { startedAt: at, finishedAt: null })
    else if (!isAlreadyFinished) step.finishedAt = at
    return step
  }
  const append = (step: string | null, text: string, stream: 'stdout' | 'stderr' | 'system') => {
    const message = scrubber.scrub(text)
    recent.push(message)
    if (recent.length > 200) recent.shift()
    lastWrite = deps.logStore
      .append(deployment.projectId, 'deployments', [{ deploymentId: deployment.id, step, stream, message }])
      .catch((error: unknown) => deps.log.warn({ err: error, deploymentId: deployment.id }, 'deployments: log line not saved'))
  }
  const log: DeploymentLog = {
    line: (text, stream = 'system') => append(current, text, stream),
    async lineOnce(step, text) {
      const filter = { deployment: deployment.id, q: text }
      for await (const entry of deps.logStore.read(deployment.projectId, 'deployments', { filter }))
        if (entry.step === step && entry.stream === 'system' && entry.message === text) return
      append(step, text, 'system')
    },
    async step(name, status) {
      await lastWrite
      current = name
      const step = updateStep(name, status)
      await updateDeployment(deps.database.db, deployment.id, { steps: JSON.stringify(steps) })
      deps.database.signals.publish(deploymentTopic(deployment.id), { step: { ...step } })
    },
    stepsWithDone(name) {
      updateStep(name, 'succeeded')
      return JSON.stringify(steps)
    },
    async skipped(name) {
      if (!steps.some((step) => step.name === name && step.status === 'succeeded')) await log.step(name, 'skipped')
    },
    tail: (count) => recent.slice(-count),
    flush: async () => {
      await lastWrite
      await deps.logStore.flush()
    },
  }
  return log
}
