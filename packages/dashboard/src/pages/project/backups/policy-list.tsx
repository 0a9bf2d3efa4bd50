import { type BackupPolicy, contract, type Project } from '@berth/contract'
import { Group, Switch, Text } from '@mantine/core'
import { IconArchive } from '@tabler/icons-react'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { RowButton } from '../../../components/row-button.tsx'
import { SecretOnce } from '../../../components/secret-once.tsx'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { useChange } from '../../../data/change.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { scheduleText } from '../../../rules/cron-text.ts'
import { retentionText } from '../../../text/retention-text.ts'
import { EditPolicy } from './edit-policy.tsx'

interface Props {
  project: Project
  policies: readonly BackupPolicy[]
}

export function PolicyList({ project, policies }: Props) {
  const [confirming, setConfirming] = useState<BackupPolicy>()
  const [edited, setEdited] = useState<BackupPolicy>()
  const [secret, setSecret] = useState<string>()
  const writeRefusal = useProjectRefusal(project.id, 'write')
  const adminRefusal = useProjectRefusal(project.id, 'admin')
  const refreshes = [contract.backups.listPolicies, contract.backups.listRuns]
  const destinations = useRead(contract.backups.listDestinations, { query: { projectId: project.id } })
  const start = useChange(contract.backups.startRun, { refreshes, successMessage: 'Backup started.' })
  const update = useChange(contract.backups.updatePolicy, { refreshes })
  const remove = useChange(contract.backups.deletePolicy, { refreshes, successMessage: 'Policy deleted. Its runs are kept.' })
  if (policies.length === 0)
    return (
      <EmptyState icon={IconArchive} title="No backup policies">
        A policy sets the destination, the schedule and the retention.
      </EmptyState>
    )
  const nameOf = (id: string) => destinations.data?.find((one) => one.id === id)?.name ?? 'a destination'
  const webhook = ({ id: policyId, webhookEnabled }: BackupPolicy) =>
    update.mutate(
      { params: { policyId }, body: webhookEnabled ? { enableWebhook: false } : { enableWebhook: true } },
      { onSuccess: ({ data }) => setSecret(data.webhookToken) },
    )
  const columns: Column<BackupPolicy>[] = [
    {
      title: 'Policy',
      isHeading: true,
      cell: (one) => (
        <div>
          <Text size="sm" fw={500}>
            {one.serviceId && `${one.serviceId}: `}To {nameOf(one.destinationId)}, {scheduleText(one)}
          </Text>
          <Text size="xs" c="dimmed">
            {retentionText(one)}
          </Text>
        </div>
      ),
    },
    { title: 'Next', cell: ({ nextRunAt, enabled }) => (enabled && nextRunAt ? <TimeAgo time={nextRunAt} /> : '–') },
    { title: 'Last proven', cell: ({ lastProvenAt }) => (lastProvenAt ? <TimeAgo time={lastProvenAt} /> : 'not yet') },
    {
      title: 'Enabled',
      cell: ({ id: policyId, enabled }) => (
        <Switch
          size="xs"
          aria-label="Enabled"
          checked={enabled}
          disabled={!!writeRefusal}
          onChange={() => update.mutate({ params: { policyId }, body: { enabled: !enabled } })}
        />
      ),
    },
    {
      title: 'Webhook',
      cell: (one) => (
        <Switch
          size="xs"
          aria-label="Webhook"
          title="Start it from another program, with a token that is shown once"
          checked={one.webhookEnabled}
          disabled={!!writeRefusal}
          onChange={() => webhook(one)}
        />
      ),
    },
    {
      title: '',
      alignRight: true,
      cell: (one) => (
        <Group gap={4} justify="flex-end" wrap="nowrap">
          <ActionButton
            size="compact-sm"
            fz="xs"
            refusal={writeRefusal}
            loading={start.isPending && start.variables?.params.policyId === one.id}
            onClick={() => start.mutate({ params: { policyId: one.id } })}
          >
            Back up now
          </ActionButton>
          <RowButton refusal={writeRefusal} onClick={() => setEdited(one)}>
            Change
          </RowButton>
          <RowButton refusal={adminRefusal} onClick={() => setConfirming(one)}>
            Delete
          </RowButton>
        </Group>
      ),
    },
  ]
  return (
    <>
      <DataTable label="Policies" columns={columns} rows={policies} keyOf={({ id }) => id} />
      {edited && <EditPolicy project={project} policy={edited} onClose={() => setEdited(undefined)} />}
      <SecretOnce
        title="Webhook token"
        secret={secret}
        onClose={() => setSecret(undefined)}
        use={(token) => `curl -X POST ${window.location.origin}/api/webhooks/backup -H 'Authorization: Bearer ${token}'`}
      />
      <ConfirmDialog
        isOpen={!!confirming}
        title="Delete this policy?"
        action="Delete"
        isPending={remove.isPending}
        onConfirm={() =>
          confirming && remove.mutate({ params: { policyId: confirming.id } }, { onSuccess: () => setConfirming(undefined) })
        }
        onClose={() => setConfirming(undefined)}
      >
        It creates no more backups. Its runs are kept and can be restored.
      </ConfirmDialog>
    </>
  )
}
