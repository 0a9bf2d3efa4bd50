import { contract, type Project } from '@berth/contract'
import { Checkbox } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { Section } from '../../../components/section.tsx'
import { useChange } from '../../../data/change.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { deletionLines } from '../../../rules/deletion-lines.ts'
import { deletionQuery } from '../../../rules/running-operations.ts'
import { DeletionItems } from './deletion-items.tsx'
import { RunningOperations } from './running-operations.tsx'

/** Lists what deleting would remove and keep, item by item, before it happens. */
export function DeleteSection({ project }: { project: Project }) {
  const navigate = useNavigate()
  const [isConfirming, setConfirming] = useState(false)
  const [deleteVolumes, setDeleteVolumes] = useState(false)
  const refusal = useProjectRefusal(project.id, 'admin')
  const params = { id: project.id }
  const preview = useRead(contract.projects.deletionPreview, { params }, { isEnabled: isConfirming })
  const remove = useChange(contract.projects.remove, {
    refreshes: [contract.projects.home],
    successMessage: ({ data }) =>
      `Deleted. ${
        data.kept.length > 0
          ? `Kept: ${deletionLines(data.kept, false)
              .map(({ text }) => text)
              .join(', ')}.`
          : ''
      }`,
  })
  const running = preview.data?.blockedBy ?? []
  return (
    <Section
      isDanger
      title="Delete"
      description="Deletes the project, its versions and its domains. Volumes are kept unless you choose to delete them."
      actions={
        <ActionButton color="red" variant="outline" refusal={refusal} onClick={() => setConfirming(true)}>
          Delete this project
        </ActionButton>
      }
    >
      <ConfirmDialog
        isOpen={isConfirming}
        title={`Delete ${project.name}?`}
        typed={project.name}
        action="Delete permanently"
        isPending={remove.isPending}
        onConfirm={() =>
          remove.mutate({ params, query: deletionQuery(deleteVolumes, running) }, { onSuccess: () => void navigate({ to: '/' }) })
        }
        onClose={() => setConfirming(false)}
      >
        <Loaded query={preview}>{({ items }) => <DeletionItems items={items} deletesVolumes={deleteVolumes} />}</Loaded>
        <RunningOperations operations={running} />
        <Checkbox
          label="Also delete volumes and their data"
          checked={deleteVolumes}
          onChange={(event) => setDeleteVolumes(event.currentTarget.checked)}
        />
      </ConfirmDialog>
    </Section>
  )
}
