import { contract, type Project } from '@berth/contract'
import { Button, Group, Modal } from '@mantine/core'
import { IconFolderUp } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { useChange } from '../../data/change.ts'
import { FolderDrop } from '../../upload/folder-drop.tsx'

/** Uploads a new version of an uploaded project. */
export function UploadVersion({ project, refusal }: { project: Project; refusal: string | undefined }) {
  const [isOpen, setOpen] = useState(false)
  const navigate = useNavigate()
  const deploy = useChange(contract.deployments.build, { refreshes: [contract.projects.listDeployments] })
  const start = (uploadSessionId: string) =>
    deploy.mutate(
      { body: { projectId: project.id, uploadSessionId } },
      {
        onSuccess: ({ data }) =>
          navigate({
            to: '/projects/$id/deployments/$deploymentId',
            params: { id: project.id, deploymentId: data.deploymentId },
          }),
      },
    )
  return (
    <>
      <ActionButton variant="default" refusal={refusal} onClick={() => setOpen(true)} leftSection={<IconFolderUp size={16} />}>
        Upload a new version
      </ActionButton>
      <Modal
        opened={isOpen}
        onClose={() => setOpen(false)}
        title="Upload a new version"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <FolderDrop projectId={project.id} onSent={({ sessionId }) => start(sessionId)} />
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={() => setOpen(false)}>
            Cancel
          </Button>
        </Group>
      </Modal>
    </>
  )
}
