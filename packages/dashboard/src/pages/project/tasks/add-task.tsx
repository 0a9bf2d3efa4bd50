import { contract } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { Group, NativeSelect, NumberInput, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { AddSection } from '../../../components/add-section.tsx'
import { CronInput } from '../../../components/cron-input.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
const emptyTask = { name: '', schedule: '0 3 * * *', command: '', timezone: zone, environment: 'production' }

export function AddTask({ projectId, isFirst }: { projectId: string; isFirst: boolean }) {
  const params = { id: projectId }
  const refusal = useProjectRefusal(projectId, 'write')
  const environments = useRead(contract.projects.listEnvironments, { params, query: {} })
  const [task, setTask] = useState(emptyTask)
  const [timeoutSeconds, setTimeoutSeconds] = useState(3600)
  const [overlap, setOverlap] = useState<'skip' | 'queue'>('skip')
  const create = useChange(contract.tasks.create, { refreshes: [contract.tasks.list], successMessage: 'Task created.' })
  const change = (changes: Partial<typeof emptyTask>) => setTask({ ...task, ...changes })
  const errorOf = (field: string) =>
    create.error instanceof ApiError && create.error.field === field ? create.error.message : undefined
  const add = () => create.mutate({ params, body: { ...task, timeoutSeconds, overlap } }, { onSuccess: () => setTask(emptyTask) })
  return (
    <AddSection
      isFirst={isFirst}
      refusal={refusal}
      title="Add a task"
      description="The command runs without a shell. For pipes and variables, name one: sh -c '…'."
    >
      <form onSubmit={submitting(add)}>
        <Stack>
          <TextInput
            label="Name"
            required
            maxLength={100}
            value={task.name}
            error={errorOf('name')}
            onChange={(event) => change({ name: event.currentTarget.value })}
          />
          <TextInput
            label="Command"
            required
            placeholder="node scripts/tidy.js"
            classNames={{ input: 'mono' }}
            value={task.command}
            error={errorOf('command')}
            onChange={(event) => change({ command: event.currentTarget.value })}
          />
          <CronInput
            value={task.schedule}
            timezone={task.timezone}
            error={errorOf('schedule')}
            onChange={(schedule) => change({ schedule })}
          />
          <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
            <TextInput
              label="Time zone"
              value={task.timezone}
              error={errorOf('timezone')}
              onChange={(event) => change({ timezone: event.currentTarget.value })}
            />
            <NativeSelect
              label="Environment"
              data={(environments.data ?? [{ slug: 'production' }]).map(({ slug }) => slug)}
              value={task.environment}
              onChange={(event) => change({ environment: event.currentTarget.value })}
            />
            <NumberInput
              label="Time limit in seconds"
              min={1}
              max={86_400}
              allowDecimal={false}
              value={timeoutSeconds}
              error={errorOf('timeoutSeconds')}
              onChange={(value) => setTimeoutSeconds(Number(value))}
            />
            <NativeSelect
              label="While a run is in progress"
              data={[
                { value: 'skip', label: 'Skip the next run' },
                { value: 'queue', label: 'Queue the next run' },
              ]}
              value={overlap}
              onChange={(event) => setOverlap(event.currentTarget.value === 'queue' ? 'queue' : 'skip')}
            />
          </SimpleGrid>
          <Group justify="flex-end">
            <ActionButton type="submit" refusal={refusal} loading={create.isPending}>
              Add the task
            </ActionButton>
          </Group>
        </Stack>
      </form>
    </AddSection>
  )
}
