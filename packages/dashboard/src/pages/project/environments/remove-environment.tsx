import { contract, type Environment } from '@berth/contract'
import { Checkbox } from '@mantine/core'
import { useState } from 'react'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { useChange } from '../../../data/change.ts'
import { useRead } from '../../../data/read.ts'
import { deletionQuery } from '../../../rules/running-operations.ts'
import { DeletionItems } from '../settings/deletion-items.tsx'
import { RunningOperations } from '../settings/running-operations.tsx'

interface Props {
  projectId: string
  environment: Environment
  onClose(): void
}

export function RemoveEnvironment({ projectId, environment, onClose }: Props) {
  const [deleteVolumes, setDeleteVolumes] = useState(false)
  const params = { id: projectId, environment: environment.slug }
  const preview = useRead(contract.projects.environmentDeletionPreview, { params })
  const remove = useChange(contract.projects.removeEnvironment, {
    refreshes: [contract.projects.listEnvironments],
    successMessage: 'Removed.',
  })
  const running = preview.data?.blockedBy ?? []
  return (
    <ConfirmDialog
      isOpen
      title={`Remove ${environment.name}?`}
      action="Remove"
      isPending={remove.isPending}
      onConfirm={() => remove.mutate({ params, query: deletionQuery(deleteVolumes, running) }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <Loaded query={preview}>{({ items }) => <DeletionItems items={items} deletesVolumes={deleteVolumes} />}</Loaded>
      <RunningOperations operations={running} />
      <Checkbox
        label="Also delete volumes and their data"
        checked={deleteVolumes}
        onChange={(event) => setDeleteVolumes(event.currentTarget.checked)}
      />
    </ConfirmDialog>
  )
}
