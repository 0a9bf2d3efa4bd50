import { contract, type Project } from '@berth/contract'
import { Checkbox, Group } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { useChange } from '../../data/change.ts'
import { projectReads } from '../../data/project.ts'
import { useRead } from '../../data/read.ts'
import { useProjectRefusal } from '../../data/refusal.ts'
import { TransferProgress } from './transfer-progress.tsx'

/** Moves a project to the cloud or back, and shows the progress. */
export function MoveProject({ project }: { project: Project }) {
  const [withData, setWithData] = useState(true)
  const link = useRead(contract.cloud.getLink, {})
  const adminRefusal = useProjectRefusal(project.id, 'admin')
  const isHere = project.location === 'local'
  const move = useChange(isHere ? contract.projects.transferToCloud : contract.projects.transferToSelfHosted, {
    refreshes: [...projectReads, contract.cloud.transfer],
    successMessage: ({ data }) => (data.location === 'cloud' ? 'Transferred to the cloud.' : 'Transferred to this instance.'),
  })
  const isLinked = link.data?.linked === true
  const refusal =
    adminRefusal ?? (link.data && !isLinked ? 'This instance is not linked to a cloud. Link it on the Cloud page.' : undefined)
  return (
    <>
      <Group justify="space-between" gap="sm">
        <Checkbox label="Include volume data" checked={withData} onChange={(event) => setWithData(event.currentTarget.checked)} />
        <ActionButton
          variant="default"
          refusal={refusal}
          loading={move.isPending}
          onClick={() => move.mutate({ params: { id: project.id }, body: { withData } })}
        >
          {isHere ? 'Transfer to the cloud' : 'Transfer to this instance'}
        </ActionButton>
      </Group>
      {isLinked && <TransferProgress projectId={project.id} isMoving={move.isPending} refusal={adminRefusal} />}
    </>
  )
}
