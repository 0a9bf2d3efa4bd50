import { type CloudLink, contract } from '@berth/contract'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ExternalLink } from '../../components/external-link.tsx'
import { Facts } from '../../components/facts.tsx'
import { Section } from '../../components/section.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { useRefusal } from '../../data/refusal.ts'

export function LinkState({ link }: { link: CloudLink }) {
  const [isConfirming, setConfirming] = useState(false)
  const refusal = useRefusal('cloud:admin')
  const unlink = useChange(contract.cloud.unlink, {
    refreshes: [contract.cloud.getLink, contract.projects.home],
    successMessage: 'Unlinked.',
  })
  return (
    <Section
      title="Link"
      actions={
        <ActionButton size="xs" variant="default" refusal={refusal} onClick={() => setConfirming(true)}>
          Unlink
        </ActionButton>
      }
    >
      <Facts
        facts={[
          ['Cloud', link.url && <ExternalLink url={link.url} />],
          ['State', <StatusBadge key="state" status={link.reachable ? 'reachable' : 'unreachable'} />],
          ['Linked', link.linkedAt && <TimeAgo time={link.linkedAt} />],
          ['Token expires', link.tokenExpiresAt ? <TimeAgo time={link.tokenExpiresAt} /> : 'never'],
        ]}
      />
      <ConfirmDialog
        isOpen={isConfirming}
        title="Unlink from the cloud?"
        action="Unlink"
        isPending={unlink.isPending}
        onConfirm={() => unlink.mutate({}, { onSettled: () => setConfirming(false) })}
        onClose={() => setConfirming(false)}
      >
        Projects stay where they are. Those in the cloud are no longer shown or managed here.
      </ConfirmDialog>
    </Section>
  )
}
