import { contract, type InstanceBackup, type InstanceBackupPolicy } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { Alert, Group, NativeSelect, NumberInput, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { CronInput } from '../../components/cron-input.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Section } from '../../components/section.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { submitting } from '../../components/submitting.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { useSession } from '../../data/session.ts'
import { sizeText } from '../../text/sizes.ts'

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
const contents = [
  { value: 'everything', label: 'Everything: volumes, images, sources and logs too' },
  { value: 'database', label: 'Only the database and the keys' },
]
const refreshes = [contract.backups.getInstancePolicy, contract.backups.listInstanceBackups]

const isUnfinished = ({ status }: InstanceBackup) => status === 'queued' || status === 'running'

/** Backups of the instance itself, shown only to operators. */
export function InstanceSection() {
  const isOperator = useSession().data?.operator ?? false
  const policy = useRead(contract.backups.getInstancePolicy, {}, { isEnabled: isOperator })
  const backups = useRead(
    contract.backups.listInstanceBackups,
    { query: { limit: 10 } },
    { isEnabled: isOperator, refetchIntervalMs: (rows) => (rows?.some(isUnfinished) ? 2_000 : false) },
  )
  if (policy.data === undefined || !backups.data) return null
  return (
    <>
      <PolicySection
        key={policy.data?.updatedAt ?? ''}
        policy={policy.data}
        isBusy={backups.data.some(isUnfinished)}
        hasBackups={backups.data.length > 0}
      />
      {backups.data.length > 0 && (
        <Section title="Backups of the instance" isFlush>
          <DataTable label="Backups of the instance" rows={backups.data} columns={columns} keyOf={({ id }) => id} />
        </Section>
      )}
    </>
  )
}

interface PolicyProps {
  policy: InstanceBackupPolicy | null
  isBusy: boolean
  hasBackups: boolean
}

function PolicySection({ policy, isBusy, hasBackups }: PolicyProps) {
  const destinations = useRead(contract.backups.listDestinations, { query: {} })
  const [isConfirming, setConfirming] = useState(false)
  const [form, setForm] = useState(() => ({
    destinationId: policy?.destinationId ?? '',
    cronExpression: policy?.cronExpression ?? '0 2 * * *',
    timezone: policy?.timezone ?? zone,
    retainCount: policy?.retainCount ?? 7,
    content: policy?.content ?? ('everything' as const),
  }))
  const save = useChange(contract.backups.saveInstancePolicy, { refreshes, successMessage: 'Schedule saved.' })
  const remove = useChange(contract.backups.removeInstancePolicy, { refreshes, successMessage: 'Schedule removed.' })
  const start = useChange(contract.backups.startInstanceBackup, { refreshes, successMessage: 'Backup started.' })
  const set = (change: Partial<typeof form>) => setForm({ ...form, ...change })
  const destinationId = form.destinationId || destinations.data?.[0]?.id
  const fieldError = (field: string) =>
    save.error instanceof ApiError && save.error.field === field ? save.error.message : undefined
  const noDestination = destinationId === undefined ? 'Add a destination first' : undefined
  return (
    <form onSubmit={submitting(() => destinationId && save.mutate({ body: { ...form, destinationId } }))}>
      <Section
        title="Instance"
        description="A backup of the instance itself restores users, projects and settings on an empty machine with berth restore-instance."
        actions={
          <ActionButton
            size="xs"
            variant="default"
            refusal={noDestination ?? (isBusy ? 'A backup is running' : undefined)}
            loading={start.isPending}
            onClick={() => start.mutate({ body: { ...(destinationId ? { destinationId } : {}), content: form.content } })}
          >
            Back up now
          </ActionButton>
        }
      >
        <Stack>
          {policy ? null : (
            <Alert color="yellow" title="The instance is not backed up">
              {hasBackups ? 'It has no schedule.' : 'If this machine is lost, so are its projects, users and settings.'} Backups
              of projects do not include them.
            </Alert>
          )}
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <NativeSelect
              label="Destination"
              value={destinationId ?? ''}
              error={fieldError('destinationId')}
              data={(destinations.data ?? []).map(({ id, name, kind }) => ({ value: id, label: `${name} (${kind})` }))}
              onChange={(event) => set({ destinationId: event.currentTarget.value })}
            />
            <NativeSelect
              label="Content"
              value={form.content}
              data={contents}
              onChange={(event) => set({ content: event.currentTarget.value as typeof form.content })}
            />
          </SimpleGrid>
          <CronInput
            value={form.cronExpression}
            timezone={form.timezone}
            error={fieldError('cronExpression')}
            onChange={(cronExpression) => set({ cronExpression })}
          />
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <TextInput
              label="Time zone"
              required
              value={form.timezone}
              error={fieldError('timezone')}
              onChange={(event) => set({ timezone: event.currentTarget.value })}
            />
            <NumberInput
              label="Keep last (backups)"
              required
              min={1}
              max={1000}
              value={form.retainCount}
              error={fieldError('retainCount')}
              onChange={(value) => set({ retainCount: Number(value) })}
            />
          </SimpleGrid>
          <Text size="sm" c="dimmed">
            Backups are encrypted with backup.key in the data folder. Keep a copy of that file on another machine: without it no
            backup can be restored.
          </Text>
          <Group justify="flex-end">
            {policy && (
              <ActionButton variant="default" loading={remove.isPending} onClick={() => setConfirming(true)}>
                Remove the schedule
              </ActionButton>
            )}
            <ActionButton type="submit" refusal={noDestination} loading={save.isPending}>
              Save the schedule
            </ActionButton>
          </Group>
        </Stack>
      </Section>
      <ConfirmDialog
        isOpen={isConfirming}
        title="Remove the schedule"
        action="Remove"
        onClose={() => setConfirming(false)}
        onConfirm={() => {
          setConfirming(false)
          remove.mutate({})
        }}
      >
        The instance is no longer backed up. Its backups stay stored.
      </ConfirmDialog>
    </form>
  )
}

const columns: Column<InstanceBackup>[] = [
  { title: 'When', isHeading: true, cell: ({ createdAt }) => <TimeAgo time={createdAt} /> },
  {
    title: 'Status',
    cell: ({ status, error }) => (
      <>
        <StatusBadge status={status} />
        {error && (
          <Text size="xs" c="dimmed">
            {error.message}
          </Text>
        )}
      </>
    ),
  },
  { title: 'Trigger', cell: ({ trigger }) => (trigger === 'schedule' ? 'Schedule' : 'Manual') },
  { title: 'Size', alignRight: true, cell: ({ sizeBytes, bytesDone }) => sizeText(sizeBytes ?? bytesDone) },
  { title: 'Object', isWide: true, cell: ({ objectName }) => <span className="mono">{objectName}</span> },
]
