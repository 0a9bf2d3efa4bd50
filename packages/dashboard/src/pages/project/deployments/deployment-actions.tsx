import { contract, type Deployment } from '@berth/contract'
import { List } from '@mantine/core'
import { IconArrowBackUp, IconPlayerStop, IconRefresh } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { useChange } from '../../../data/change.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { canCancel, redeployRefusal, rollbackChanges, rollbackRefusal } from '../../../rules/deployment-actions.ts'

export function DeploymentActions({ deployment }: { deployment: Deployment }) {
  const { id, projectId, environment } = deployment
  const navigate = useNavigate()
  const [isConfirming, setConfirming] = useState(false)
  const refreshes = [contract.projects.get, contract.projects.listDeployments, contract.deployments.get]
  const writeRefusal = useProjectRefusal(projectId, 'write')
  const newest = useRead(contract.projects.listDeployments, { params: { id: projectId }, query: { status: 'live', environment } })
  const cancel = useChange(contract.deployments.cancel, {
    refreshes,
    successMessage: 'Cancelled. The previous version stays live.',
  })
  const redeploy = useChange(contract.deployments.redeploy, { refreshes })
  const rollback = useChange(contract.deployments.rollback, { refreshes })
  const openDeployment = {
    onSuccess: ({ data }: { data: { deploymentId: string } }) => {
      setConfirming(false)
      void navigate({ to: '/projects/$id/deployments/$deploymentId', params: { id: projectId, deploymentId: data.deploymentId } })
    },
  }
  return (
    <>
      {canCancel(deployment) && (
        <ActionButton
          variant="default"
          refusal={writeRefusal}
          loading={cancel.isPending}
          onClick={() => cancel.mutate({ params: { id } })}
          leftSection={<IconPlayerStop size={16} />}
        >
          Cancel
        </ActionButton>
      )}
      {deployment.status !== 'live' && (
        <ActionButton
          variant="default"
          refusal={writeRefusal ?? rollbackRefusal(deployment)}
          onClick={() => setConfirming(true)}
          leftSection={<IconArrowBackUp size={16} />}
        >
          Roll back to this
        </ActionButton>
      )}
      <ActionButton
        refusal={writeRefusal ?? redeployRefusal(deployment)}
        loading={redeploy.isPending}
        onClick={() => redeploy.mutate({ params: { id } }, openDeployment)}
        leftSection={<IconRefresh size={16} />}
      >
        Redeploy
      </ActionButton>
      <ConfirmDialog
        isOpen={isConfirming}
        title={`Roll back to #${deployment.number}?`}
        action="Roll back"
        isPending={rollback.isPending}
        onConfirm={() => rollback.mutate({ params: { id } }, openDeployment)}
        onClose={() => setConfirming(false)}
      >
        <List size="sm" spacing="xs">
          {rollbackChanges(deployment, newest.data?.[0]).map((line) => (
            <List.Item key={line}>{line}</List.Item>
          ))}
        </List>
      </ConfirmDialog>
    </>
  )
}
