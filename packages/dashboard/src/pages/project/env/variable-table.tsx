import { contract, type EnvVariable } from '@berth/contract'
import { ActionIcon, Badge, Group } from '@mantine/core'
import { IconPencil, IconTrash, IconVariable } from '@tabler/icons-react'
import { useState } from 'react'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { useChange } from '../../../data/change.ts'
import { offerUndo } from '../../../data/notices.tsx'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { VariableDialog } from './variable-dialog.tsx'

interface Props {
  projectId: string
  environment: string
  variables: readonly EnvVariable[]
  onSaved(): void
}

export function VariableTable({ projectId, environment, variables, onSaved }: Props) {
  const refusal = useProjectRefusal(projectId, 'write')
  const [edited, setEdited] = useState<EnvVariable>()
  const [confirming, setConfirming] = useState<EnvVariable>()
  const change = useChange(contract.projects.changeEnv, { refreshes: [contract.projects.listEnv] })
  const params = { id: projectId }
  const remove = ({ key, value, isSecret }: EnvVariable) =>
    change.mutate(
      { params, body: { environment, deletes: [key] } },
      {
        onSuccess: () => {
          setConfirming(undefined)
          onSaved()
          // A deleted secret cannot be restored: its value was never sent to the browser.
          if (!isSecret)
            offerUndo(`${key} is removed.`, () =>
              change.mutate({ params, body: { environment, upserts: [{ key, value, isSecret }] } }),
            )
        },
      },
    )
  if (variables.length === 0)
    return (
      <EmptyState icon={IconVariable} title="No variables">
        Add them one by one below, or paste a whole .env file with “Edit all as text”.
      </EmptyState>
    )
  const columns: Column<EnvVariable>[] = [
    { title: 'Name', isHeading: true, cell: ({ key }) => <span className="mono">{key}</span> },
    {
      title: 'Value',
      cell: ({ value, isSecret }) =>
        isSecret ? (
          <Group gap="xs" wrap="nowrap">
            <span>{value}</span>
            <Badge variant="default" size="sm">
              secret
            </Badge>
          </Group>
        ) : (
          <span className="mono">{value || '(empty)'}</span>
        ),
    },
    { title: 'Changed', isWide: true, cell: ({ updatedAt }) => <TimeAgo time={updatedAt} /> },
    {
      title: '',
      alignRight: true,
      cell: (one) => (
        <Group gap={4} wrap="nowrap" justify="flex-end">
          <ActionIcon
            variant="subtle"
            color="gray"
            disabled={!!refusal}
            onClick={() => setEdited(one)}
            aria-label={`Change ${one.key}`}
            title={refusal ?? 'Change'}
          >
            <IconPencil size={16} />
          </ActionIcon>
          <ActionIcon
            variant="subtle"
            color="gray"
            disabled={!!refusal}
            onClick={() => (one.isSecret ? setConfirming(one) : remove(one))}
            aria-label={`Remove ${one.key}`}
            title={refusal ?? 'Remove'}
          >
            <IconTrash size={16} />
          </ActionIcon>
        </Group>
      ),
    },
  ]
  return (
    <>
      <DataTable label="Variables" columns={columns} rows={variables} keyOf={({ key }) => key} />
      {edited && (
        <VariableDialog
          projectId={projectId}
          environment={environment}
          variable={edited}
          onClose={() => setEdited(undefined)}
          onSaved={() => {
            setEdited(undefined)
            onSaved()
          }}
        />
      )}
      <ConfirmDialog
        isOpen={!!confirming}
        title={`Remove ${confirming?.key ?? ''}?`}
        action="Remove"
        isPending={change.isPending}
        onConfirm={() => confirming && remove(confirming)}
        onClose={() => setConfirming(undefined)}
      >
        Its value is secret and was never shown, so this cannot be undone.
      </ConfirmDialog>
    </>
  )
}
