import { contract, type Project } from '@berth/contract'
import { Alert, Group, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { ActionButton } from '../../../components/action-button.tsx'
import { useChange } from '../../../data/change.ts'
import { projectReads } from '../../../data/project.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { pendingText } from '../../../rules/pending-changes.ts'
import { deployRefusal } from '../../../rules/project-actions.ts'

/** Changed settings that need a deployment or a restart, with a button that applies them. */
export function PendingChanges({ project }: { project: Project }) {
  const { id } = project
  const navigate = useNavigate()
  const refusal = useProjectRefusal(id, 'write') ?? deployRefusal(project)
  const refreshes = [...projectReads, contract.projects.listDeployments]
  const deploy = useChange(contract.deployments.build, { refreshes })
  const restart = useChange(contract.deployments.restart, { refreshes })
  const waiting = pendingText(project)
  if (!waiting) return null
  const openDeployment = {
    onSuccess: ({ data }: { data: { deploymentId: string } }) =>
      navigate({ to: '/projects/$id/deployments/$deploymentId', params: { id, deploymentId: data.deploymentId } }),
  }
  const apply = () =>
    waiting.action === 'deploy'
      ? deploy.mutate({ body: { projectId: id } }, openDeployment)
      : restart.mutate({ params: { id }, body: {} }, openDeployment)
  return (
    <Alert color="harbour" title="Changes not applied yet">
      <Group justify="space-between" gap="sm">
        <Text size="sm">{waiting.text}</Text>
        <ActionButton size="xs" refusal={refusal} loading={deploy.isPending || restart.isPending} onClick={apply}>
          {waiting.action === 'deploy' ? 'Deploy changes' : 'Restart'}
        </ActionButton>
      </Group>
    </Alert>
  )
}
