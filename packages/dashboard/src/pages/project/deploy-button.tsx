import { contract, type Project } from '@berth/contract'
import { Group } from '@mantine/core'
import { IconRocket } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { ActionButton } from '../../components/action-button.tsx'
import { useChange } from '../../data/change.ts'
import { projectReads } from '../../data/project.ts'
import { useProjectRefusal } from '../../data/refusal.ts'
import { deployRefusal } from '../../rules/project-actions.ts'
import { UploadVersion } from './upload-version.tsx'

/** Deploys the current source. For an uploaded project it opens the upload of a new folder. */
export function DeployButton({ project }: { project: Project }) {
  const navigate = useNavigate()
  const refusal = useProjectRefusal(project.id, 'write') ?? deployRefusal(project)
  const deploy = useChange(contract.deployments.build, { refreshes: [...projectReads, contract.projects.listDeployments] })
  const start = () =>
    deploy.mutate(
      { body: { projectId: project.id } },
      {
        onSuccess: ({ data }) =>
          navigate({
            to: '/projects/$id/deployments/$deploymentId',
            params: { id: project.id, deploymentId: data.deploymentId },
          }),
      },
    )
  return (
    <Group gap="xs">
      {project.source.kind === 'upload' && <UploadVersion project={project} refusal={refusal} />}
      <ActionButton refusal={refusal} onClick={start} loading={deploy.isPending} leftSection={<IconRocket size={16} />}>
        Deploy
      </ActionButton>
    </Group>
  )
}
