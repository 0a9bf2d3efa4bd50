import { contract, type GitHostProvider, type GitHostStatus } from '@berth/contract'
import { Alert, Text } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ExternalLink } from '../../components/external-link.tsx'
import { Section } from '../../components/section.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useChange } from '../../data/change.ts'
import { useRefusal } from '../../data/refusal.ts'

interface Props {
  status: GitHostStatus
  provider: GitHostProvider
}

const sourceNames = { app: 'the installed app', oauth: 'an account', cli: "the machine's command-line login" }

export function ConnectedSection({ status, provider }: Props) {
  const [isConfirming, setConfirming] = useState(false)
  const refusal = useRefusal('gitprovider:admin')
  const disconnect = useChange(contract.gitHost.disconnect, {
    refreshes: [contract.gitHost.status, contract.gitHost.home],
    successMessage: 'Disconnected. The app stays installed at the git host until you remove it there.',
  })
  const sources = (Object.keys(sourceNames) as (keyof typeof sourceNames)[]).filter((one) => status.sources[one])
  return (
    <Section
      title="Connection"
      actions={
        <ActionButton variant="default" size="xs" refusal={refusal} onClick={() => setConfirming(true)}>
          Disconnect
        </ActionButton>
      }
    >
      <StatusBadge status={status.state} />
      {status.accounts.map(({ login, type, id }) => (
        <Text key={id} size="sm" mt="xs">
          Account <b>{login}</b> ({type})
        </Text>
      ))}
      {sources.length > 0 && (
        <Text size="sm" c="dimmed">
          Connected through {sources.map((one) => sourceNames[one]).join(' and ')}
        </Text>
      )}
      {status.installUrl && (
        <Text size="sm" mt="xs">
          <ExternalLink url={status.installUrl}>Choose repositories for the app</ExternalLink>
        </Text>
      )}
      {status.cloudUnreachable && (
        <Alert color="yellow" mt="sm">
          The cloud cannot be reached, so the state of its connection is not known.
        </Alert>
      )}
      <ConfirmDialog
        isOpen={isConfirming}
        title="Disconnect the git host?"
        action="Disconnect"
        isPending={disconnect.isPending}
        onConfirm={() =>
          disconnect.mutate({ query: { provider }, body: { source: 'all' } }, { onSettled: () => setConfirming(false) })
        }
        onClose={() => setConfirming(false)}
      >
        Berth forgets its credentials. Projects stay as they are; pushes are no longer deployed automatically.
      </ConfirmDialog>
    </Section>
  )
}
