import type { DeploymentStep } from '@berth/contract'
import { Text } from '@mantine/core'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { stepText } from '../../../text/step-text.ts'
import { clockText, durationText, elapsedMs } from '../../../text/times.ts'
import classes from './step-list.module.css'

/** The steps side by side, so that the log below them stays in view. */
export function StepList({ steps, now }: { steps: readonly DeploymentStep[]; now: number }) {
  if (steps.length === 0) return <Text c="dimmed">Queued.</Text>
  return (
    <ol className={classes.steps}>
      {steps.map(({ name, status, startedAt, finishedAt }) => {
        const ms = elapsedMs(startedAt, finishedAt, now)
        return (
          <li key={name} data-status={status}>
            <span className={classes.name}>{stepText(name)}</span>
            <StatusBadge status={status} />
            <span className={classes.time}>{ms === null ? '' : status === 'running' ? clockText(ms) : durationText(ms)}</span>
          </li>
        )
      })}
    </ol>
  )
}
