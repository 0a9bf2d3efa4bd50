import { type CronJob, contract } from '@berth/contract'
import { Group, Text } from '@mantine/core'
import { IconClock } from '@tabler/icons-react'
import { ActionButton } from '../../../components/action-button.tsx'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { exactTime } from '../../../text/times.ts'

interface Props {
  projectId: string
  tasks: readonly CronJob[]
  onSelect(task: CronJob): void
}

const commandText = (command: CronJob['command']) => (typeof command === 'string' ? command : command.join(' '))

export function TaskTable({ projectId: id, tasks, onSelect }: Props) {
  const refusal = useProjectRefusal(id, 'write')
  const refreshes = [contract.tasks.list, contract.tasks.runs]
  const run = useChange(contract.tasks.run, { refreshes, successMessage: 'Run queued.' })
  const update = useChange(contract.tasks.update, { refreshes })
  const remove = useChange(contract.tasks.remove, { refreshes, successMessage: 'Task deleted.' })
  const columns: Column<CronJob>[] = [
    { title: 'Name', isHeading: true, cell: ({ name }) => name },
    {
      title: 'Schedule',
      cell: ({ schedule, timezone }) => (
        <Text size="sm" className="mono">
          {schedule} {timezone === 'UTC' ? '' : timezone}
        </Text>
      ),
    },
    {
      title: 'Command',
      cell: ({ command }) => (
        <Text size="sm" className="mono wrap-anywhere">
          {commandText(command)}
        </Text>
      ),
    },
    { title: 'Environment', cell: ({ environment }) => environment },
    { title: 'Next run', cell: ({ enabled, nextRunAt }) => (enabled && nextRunAt ? exactTime(nextRunAt) : 'disabled') },
    {
      title: 'Last run',
      cell: ({ lastRun }) => (lastRun ? <StatusBadge status={lastRun.status} title={lastRun.error} /> : 'never'),
    },
    {
      title: '',
      cell: (task) => {
        const params = { id, cronJobId: task.id }
        const common = { size: 'xs', variant: 'default', refusal } as const
        return (
          <Group gap="xs" wrap="nowrap">
            <ActionButton size="xs" variant="default" aria-label={`Runs of ${task.name}`} onClick={() => onSelect(task)}>
              Runs
            </ActionButton>
            <ActionButton {...common} aria-label={`Run ${task.name} now`} onClick={() => run.mutate({ params })}>
              Run now
            </ActionButton>
            <ActionButton
              {...common}
              aria-label={`${task.enabled ? 'Disable' : 'Enable'} ${task.name}`}
              onClick={() => update.mutate({ params, body: { enabled: !task.enabled } })}
            >
              {task.enabled ? 'Disable' : 'Enable'}
            </ActionButton>
            <ActionButton {...common} aria-label={`Delete ${task.name}`} onClick={() => remove.mutate({ params })}>
              Delete
            </ActionButton>
          </Group>
        )
      },
    },
  ]
  if (tasks.length === 0)
    return (
      <EmptyState icon={IconClock} title="No scheduled tasks">
        For example a nightly clean-up, or a report every Monday.
      </EmptyState>
    )
  return <DataTable label="Scheduled tasks" rows={tasks} columns={columns} keyOf={(task) => task.id} />
}
