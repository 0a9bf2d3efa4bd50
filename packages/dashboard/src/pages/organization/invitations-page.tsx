import { contract, type Invitation, type Role, roles } from '@berth/contract'
import { Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { IconMail } from '@tabler/icons-react'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { RowButton } from '../../components/row-button.tsx'
import { SecretOnce } from '../../components/secret-once.tsx'
import { Section } from '../../components/section.tsx'
import { submitting } from '../../components/submitting.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { report } from '../../data/notices.tsx'
import { useRead } from '../../data/read.ts'
import { useRefusal } from '../../data/refusal.ts'

/** Open invitations. */
export function InvitationsPage() {
  const invitations = useRead(contract.access.listInvitations, { query: {} })
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const [link, setLink] = useState<string>()
  const refusal = useRefusal('invitation:admin')
  const refreshes = [contract.access.listInvitations]
  const invite = useChange(contract.access.createInvitation, { refreshes })
  const revoke = useChange(contract.access.revokeInvitation, { refreshes, successMessage: 'Revoked. The link no longer works.' })
  const send = () =>
    invite.mutate(
      { body: { email, role } },
      {
        onSuccess: ({ data }) => {
          setEmail('')
          if (data.url) setLink(data.url)
          else report(`The link was sent to ${data.email}.`)
        },
      },
    )
  const columns: Column<Invitation>[] = [
    { title: 'User', isHeading: true, cell: (one) => one.email },
    { title: 'Role', cell: (one) => one.role },
    { title: 'Invited', cell: ({ createdAt }) => <TimeAgo time={createdAt} /> },
    { title: 'Expires', isWide: true, cell: ({ expiresAt }) => <TimeAgo time={expiresAt} /> },
    {
      title: '',
      alignRight: true,
      cell: (one) => (
        <RowButton
          refusal={refusal}
          aria-label={`Revoke the invitation of ${one.email}`}
          onClick={() => revoke.mutate({ params: { id: one.id } })}
        >
          Revoke
        </RowButton>
      ),
    },
  ]
  return (
    <Page title="Invitations" description="Each link works once, for its e-mail address only.">
      <Section title="Invite a member">
        {refusal ? (
          <Text size="sm" c="dimmed">
            {refusal}
          </Text>
        ) : (
          <form onSubmit={submitting(send)}>
            <Group align="flex-end" gap="sm">
              <TextInput
                flex="2 1 14rem"
                label="E-mail address"
                type="email"
                required
                value={email}
                onChange={(event) => setEmail(event.currentTarget.value)}
              />
              <NativeSelect
                flex="1 1 8rem"
                label="Role"
                value={role}
                data={[...roles]}
                onChange={(event) => setRole(event.currentTarget.value as Role)}
              />
              <ActionButton type="submit" loading={invite.isPending}>
                Invite
              </ActionButton>
            </Group>
          </form>
        )}
      </Section>
      <Section title="Open invitations" isFlush>
        <Loaded query={invitations}>
          {(rows) =>
            rows.length === 0 ? (
              <EmptyState icon={IconMail} title="No open invitations" />
            ) : (
              <DataTable label="Invitations" columns={columns} rows={rows} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
      </Section>
      <SecretOnce title="Invitation link" secret={link} onClose={() => setLink(undefined)} />
    </Page>
  )
}
