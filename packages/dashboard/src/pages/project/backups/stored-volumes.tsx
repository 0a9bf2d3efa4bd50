import { contract, type Project, type StoredVolume } from '@berth/contract'
import { useState } from 'react'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { RowButton } from '../../../components/row-button.tsx'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { sizeText } from '../../../text/sizes.ts'

interface Props {
  project: Project
  volumes: readonly StoredVolume[]
}

/** Volumes of the project, with the copies that restores made. */
export function StoredVolumes({ project, volumes }: Props) {
  const [confirming, setConfirming] = useState<StoredVolume>()
  const adminRefusal = useProjectRefusal(project.id, 'admin')
  const remove = useChange(contract.deployments.removeVolume, {
    refreshes: [contract.deployments.listVolumes],
    successMessage: 'Volume deleted.',
  })
  const columns: Column<StoredVolume>[] = [
    { title: 'Volume', isHeading: true, cell: ({ name }) => name },
    { title: 'Environment', isWide: true, cell: ({ environment }) => environment },
    { title: 'Size', alignRight: true, cell: ({ sizeBytes }) => sizeText(sizeBytes) },
    { title: 'Mounted at', cell: ({ mountPath }) => mountPath ?? 'Not mounted' },
    { title: 'Copy of run', isWide: true, cell: ({ restoredFrom }) => restoredFrom ?? '–' },
    {
      title: '',
      alignRight: true,
      cell: (volume) => (
        <RowButton
          refusal={adminRefusal ?? (volume.mountPath === null ? undefined : 'The volume is mounted.')}
          aria-label={`Delete ${volume.name}`}
          onClick={() => setConfirming(volume)}
        >
          Delete
        </RowButton>
      ),
    },
  ]
  return (
    <>
      <DataTable label="Volumes" columns={columns} rows={volumes} keyOf={({ id }) => id} />
      <ConfirmDialog
        isOpen={!!confirming}
        title={`Delete ${confirming?.name ?? ''}?`}
        action="Delete volume"
        isPending={remove.isPending}
        onConfirm={() =>
          confirming &&
          remove.mutate({ params: { id: project.id, volumeId: confirming.id } }, { onSettled: () => setConfirming(undefined) })
        }
        onClose={() => setConfirming(undefined)}
      >
        The volume and its data are deleted. Only a backup can restore them.
      </ConfirmDialog>
    </>
  )
}
