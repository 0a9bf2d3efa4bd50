import type { DeploymentStep } from '@berth/contract'
import { Text } from '@mantine/core'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { useNow } from '../../../data/now.ts'
import { durationText, elapsedMs } from '../../../text/times.ts'
import classes from './step-list.module.css'

export function StepList({ steps }: { steps: readonly DeploymentStep[] }) {
  const now = useNow()
  if (steps.length === 0) return <Text c="dimmed">Queued.</Text>
  return (
    <ol className={classes.steps}>
      {steps.map(({ name, status, startedAt, finishedAt }) => {
        const ms = elapsedMs(startedAt, finishedAt, now)
        return (
          <li key={name} data-status={status}>
            <span className={classes.name}>{name.replaceAll('_', ' ')}</span>
            <StatusBadge status={status} />
            <span className={classes.time}>{ms === null ? '' : durationText(ms)}</span>
          </li>
        )
      })}
    </ol>
  )
}
