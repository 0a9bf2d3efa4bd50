import { contract, type ProjectDomain } from '@berth/contract'
import { Text } from '@mantine/core'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { useChange } from '../../../data/change.ts'
import { domainReads } from '../../../data/project.ts'

interface Props {
  projectId: string
  domain: ProjectDomain
  onClose(): void
}

export function RemoveDomain({ projectId, domain: { hostname, primary, tls }, onClose }: Props) {
  const remove = useChange(contract.projects.removeDomain, { refreshes: domainReads, successMessage: `${hostname} is removed.` })
  return (
    <ConfirmDialog
      isOpen
      title={`Remove ${hostname}?`}
      action="Remove domain"
      isPending={remove.isPending}
      onConfirm={() => remove.mutate({ params: { id: projectId, hostname } }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <Text size="sm">
        The project is no longer served at {hostname}
        {tls === 'active' && ', and the certificate is not renewed'}. To add the domain again, you have to create a new TXT
        record.
        {primary && ' The free domain becomes the primary one.'}
      </Text>
    </ConfirmDialog>
  )
}
