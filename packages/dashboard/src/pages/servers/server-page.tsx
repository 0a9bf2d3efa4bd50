import { contract } from '@berth/contract'
import { Alert, Code, Text } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { PageSkeleton } from '../../components/page-skeleton.tsx'
import { RowButton } from '../../components/row-button.tsx'
import { Section } from '../../components/section.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { useRefusal } from '../../data/refusal.ts'
import { EditServer } from './edit-server.tsx'
import { ScanSection } from './scan-section.tsx'

/** A server: its connection, its workloads, and the containers that can be adopted. */
export function ServerPage() {
  const { id } = useParams({ strict: false }) as { id: string }
  const navigate = useNavigate()
  const [isConfirming, setConfirming] = useState(false)
  const [isEditing, setEditing] = useState(false)
  const server = useRead(contract.servers.get, { params: { id } })
  const writeRefusal = useRefusal('server:write')
  const adminRefusal = useRefusal('server:admin')
  const refreshes = [contract.servers.get, contract.servers.list]
  const check = useChange(contract.servers.check, {
    refreshes,
    successMessage: ({ data }) =>
      `Reachable in ${data.latencyMs} ms${data.docker ? `, Docker ${data.docker.version}` : ', but has no Docker'}.`,
  })
  const update = useChange(contract.servers.update, {
    refreshes,
    successMessage: 'The new host key is pinned at the next connection.',
  })
  const remove = useChange(contract.servers.remove, { refreshes, successMessage: 'Removed. Nothing on the server was changed.' })
  return (
    <Loaded query={server} skeleton={<PageSkeleton />}>
      {(one) => (
        <Page
          title={one.name}
          description={<StatusBadge status={one.status} />}
          actions={
            <>
              <ActionButton variant="default" refusal={adminRefusal} onClick={() => setConfirming(true)}>
                Remove
              </ActionButton>
              <ActionButton variant="default" refusal={writeRefusal} onClick={() => setEditing(true)}>
                Change
              </ActionButton>
              <ActionButton refusal={writeRefusal} loading={check.isPending} onClick={() => check.mutate({ params: { id } })}>
                Check
              </ActionButton>
            </>
          }
        >
          {one.statusReason && (
            <Alert color="yellow" title="The last check failed">
              {one.statusReason}
            </Alert>
          )}
          <Section>
            <Facts
              facts={[
                ['Login', `${one.user}@${one.host}:${one.port}`],
                [
                  'Authentication',
                  { privateKey: 'a private key', password: 'a password', none: 'nothing yet' }[one.authentication],
                ],
                ['Docker socket', <Code key="socket">{one.dockerSocket}</Code>, 'wide'],
                ['Checked', one.checkedAt && <TimeAgo time={one.checkedAt} />],
                ['Host key', one.hostKey && <Code className="wrap-anywhere">{one.hostKey}</Code>],
              ]}
            />
            {one.hostKey && (
              <Text size="sm" mt="md" component="div">
                A reinstalled server has a new host key: remove the pinned key before you check it.{' '}
                <RowButton refusal={writeRefusal} onClick={() => update.mutate({ params: { id }, body: { hostKey: null } })}>
                  Remove the pinned key
                </RowButton>
              </Text>
            )}
          </Section>
          <ScanSection serverId={id} />
          {isEditing && <EditServer server={one} onClose={() => setEditing(false)} />}
          <ConfirmDialog
            isOpen={isConfirming}
            title={`Remove ${one.name}?`}
            action="Remove"
            isPending={remove.isPending}
            onConfirm={() =>
              remove.mutate(
                { params: { id } },
                { onSuccess: () => void navigate({ to: '/servers' }), onError: () => setConfirming(false) },
              )
            }
            onClose={() => setConfirming(false)}
          >
            Berth deletes its record of the server and the credentials. Nothing on the server changes.
          </ConfirmDialog>
        </Page>
      )}
    </Loaded>
  )
}
