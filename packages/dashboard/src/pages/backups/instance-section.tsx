import { type BackupDestination, contract, type InstanceBackup, type InstanceBackupPolicy } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { Alert, Code, Group, NativeSelect, NumberInput, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { CronInput } from '../../components/cron-input.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { type Fact, Facts } from '../../components/facts.tsx'
import { Section } from '../../components/section.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { submitting } from '../../components/submitting.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { useSession } from '../../data/session.ts'
import { scheduleText } from '../../rules/cron-text.ts'
import { sizeText } from '../../text/sizes.ts'

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
const contents = [
  { value: 'everything', label: 'Everything, with volumes' },
  { value: 'database', label: 'Database and keys only' },
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
        <Section title="Instance backups" isFlush>
          <DataTable label="Instance backups" rows={backups.data} columns={columns} keyOf={({ id }) => id} />
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
  const [isOpen, setOpen] = useState(false)
  const start = useChange(contract.backups.startInstanceBackup, { refreshes, successMessage: 'Backup started.' })
  if (!destinations.data) return null
  const noDestination = destinations.data.length === 0 ? 'Add a destination first.' : undefined
  return (
    <Section
      title="Backup of the instance"
      description={
        <>
          Restores users, projects and settings on an empty machine with{' '}
          <Code style={{ whiteSpace: 'nowrap' }}>berth restore-instance</Code>.
        </>
      }
      actions={
        !isOpen && (
          <>
            <ActionButton size="xs" variant={policy ? 'default' : 'filled'} refusal={noDestination} onClick={() => setOpen(true)}>
              {policy ? 'Change…' : 'Set a schedule…'}
            </ActionButton>
            <ActionButton
              size="xs"
              variant="default"
              refusal={noDestination ?? (isBusy ? 'A backup is running.' : undefined)}
              loading={start.isPending}
              aria-label="Back up now: the instance"
              onClick={() =>
                start.mutate({
                  body: {
                    ...(policy ? {} : { destinationId: destinations.data[0]!.id }),
                    content: policy?.content ?? 'everything',
                  },
                })
              }
            >
              Back up now
            </ActionButton>
          </>
        )
      }
    >
      <Stack>
        {!policy && (
          <Alert color="yellow" title="The instance has no backup schedule">
            {!hasBackups && 'If this machine is lost, so are its users, projects and settings. '}Backups of projects do not
            include them.{noDestination && ' Add a destination first.'}
          </Alert>
        )}
        {policy && !isOpen && <Facts facts={factsOf(policy, destinations.data)} />}
        {isOpen && <PolicyForm policy={policy} destinations={destinations.data} onClose={() => setOpen(false)} />}
        {(isOpen || policy) && (
          <Text size="sm" c="dimmed">
            Backups are encrypted with <Code>backup.key</Code> in the data folder. Keep a copy of that file on another machine:
            without it no backup can be restored.
          </Text>
        )}
      </Stack>
    </Section>
  )
}

const factsOf = (policy: InstanceBackupPolicy, destinations: readonly BackupDestination[]): Fact[] => [
  ['Schedule', scheduleText(policy)],
  ['Next', policy.nextRunAt && <TimeAgo time={policy.nextRunAt} />],
  ['Destination', destinations.find(({ id }) => id === policy.destinationId)?.name ?? 'a deleted destination'],
  ['Content', contents.find(({ value }) => value === policy.content)?.label],
  ['Backups to keep', policy.retainCount],
]

interface FormProps {
  policy: InstanceBackupPolicy | null
  destinations: readonly BackupDestination[]
  onClose(): void
}

function PolicyForm({ policy, destinations, onClose }: FormProps) {
  const [isConfirming, setConfirming] = useState(false)
  const [form, setForm] = useState(() => ({
    destinationId: policy?.destinationId ?? destinations[0]?.id ?? '',
    cronExpression: policy?.cronExpression ?? '0 2 * * *',
    timezone: policy?.timezone ?? zone,
    retainCount: policy?.retainCount ?? 7,
    content: policy?.content ?? ('everything' as const),
  }))
  const save = useChange(contract.backups.saveInstancePolicy, { refreshes, successMessage: 'Schedule saved.' })
  const remove = useChange(contract.backups.removeInstancePolicy, { refreshes, successMessage: 'Schedule removed.' })
  const set = (change: Partial<typeof form>) => setForm({ ...form, ...change })
  const fieldError = (field: string) =>
    save.error instanceof ApiError && save.error.field === field ? save.error.message : undefined
  return (
    <>
      <form onSubmit={submitting(() => save.mutate({ body: form }, { onSuccess: onClose }))}>
        <Stack>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <NativeSelect
              label="Destination"
              value={form.destinationId}
              error={fieldError('destinationId')}
              data={destinations.map(({ id, name }) => ({ value: id, label: name }))}
              onChange={(event) => set({ destinationId: event.currentTarget.value })}
            />
            <NativeSelect
              label="Content"
              value={form.content}
              data={contents}
              onChange={(event) => set({ content: event.currentTarget.value as typeof form.content })}
            />
          </SimpleGrid>
          {destinations.find(({ id }) => id === form.destinationId)?.kind === 'local' && (
            <Alert color="yellow" title="The destination is on this machine">
              If the machine is lost, so is the backup. Prefer an S3 bucket or an SFTP server.
            </Alert>
          )}
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
              label="Backups to keep"
              required
              min={1}
              max={1000}
              value={form.retainCount}
              error={fieldError('retainCount')}
              onChange={(value) => set({ retainCount: Number(value) })}
            />
          </SimpleGrid>
          <Group justify="flex-end" gap="xs">
            {policy && (
              <ActionButton variant="default" mr="auto" loading={remove.isPending} onClick={() => setConfirming(true)}>
                Remove
              </ActionButton>
            )}
            <ActionButton variant="default" onClick={onClose}>
              Cancel
            </ActionButton>
            <ActionButton type="submit" loading={save.isPending}>
              Save
            </ActionButton>
          </Group>
        </Stack>
      </form>
      <ConfirmDialog
        isOpen={isConfirming}
        title="Remove the schedule?"
        action="Remove"
        onClose={() => setConfirming(false)}
        onConfirm={() => {
          setConfirming(false)
          remove.mutate({})
        }}
      >
        The instance is no longer backed up. Its backups stay stored.
      </ConfirmDialog>
    </>
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
