import { contract, type Member, type Role, roles } from '@berth/contract'
import { NativeSelect, Text } from '@mantine/core'
import { IconUserPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { RefusableLink } from '../../components/refusable-link.tsx'
import { RowButton } from '../../components/row-button.tsx'
import { Section } from '../../components/section.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { useRefusal } from '../../data/refusal.ts'
import { isLastOwner, lastOwnerMessage } from '../../rules/last-owner.ts'
import { roleText } from '../../text/role-text.ts'
import { MemberGrants } from './member-grants.tsx'

const twoFactorColumn: Column<Member> = {
  title: 'Two-factor',
  isWide: true,
  cell: ({ twoFactor }) => (twoFactor ? 'on' : 'off'),
}

/** The members of the organisation, and their roles. */
export function MembersPage() {
  const members = useRead(contract.access.listMembers, { query: {} })
  const [confirming, setConfirming] = useState<Member>()
  const refusal = useRefusal('member:admin')
  const inviteRefusal = useRefusal('invitation:admin')
  const refreshes = [contract.access.listMembers]
  const update = useChange(contract.access.updateMember, { refreshes, successMessage: 'Saved.' })
  const remove = useChange(contract.access.removeMember, {
    refreshes,
    successMessage: 'Removed. Their sessions and tokens for this organisation were revoked.',
  })
  const isLast = (one: Member) => isLastOwner(members.data ?? [], one)
  const columns: Column<Member>[] = [
    {
      title: 'User',
      isHeading: true,
      cell: ({ email, name }) => (
        <div>
          <Text size="sm" fw={500}>
            {name ?? email}
          </Text>
          {name && (
            <Text size="xs" c="dimmed">
              {email}
            </Text>
          )}
        </div>
      ),
    },
    {
      title: 'Role',
      cell: (one) =>
        refusal || isLast(one) ? (
          <span title={refusal ?? lastOwnerMessage}>{one.role}</span>
        ) : (
          <NativeSelect
            size="xs"
            aria-label={`Role of ${one.email}`}
            value={one.role}
            data={[...roles]}
            onChange={(event) =>
              update.mutate({ params: { userId: one.userId }, body: { role: event.currentTarget.value as Role } })
            }
          />
        ),
    },
    ...(refusal ? [] : [twoFactorColumn]),
    { title: 'Joined', isWide: true, cell: ({ joinedAt }) => <TimeAgo time={joinedAt} /> },
    {
      title: '',
      alignRight: true,
      cell: (one) => (
        <RowButton
          refusal={refusal ?? (isLast(one) ? lastOwnerMessage : undefined)}
          aria-label={`Remove ${one.email}`}
          onClick={() => setConfirming(one)}
        >
          Remove
        </RowButton>
      ),
    },
  ]
  return (
    <Page
      title="Members"
      description="A role applies to all projects. A grant changes the access of a member to one project."
      actions={
        <RefusableLink to="/organization/invitations" refusal={inviteRefusal} leftSection={<IconUserPlus size={16} />}>
          Invite
        </RefusableLink>
      }
    >
      <Section isFlush>
        <Loaded query={members}>
          {(rows) => <DataTable label="Members" columns={columns} rows={rows} keyOf={({ userId }) => userId} />}
        </Loaded>
      </Section>
      <MemberGrants />
      <Section title="Roles">
        {roles.map((role) => (
          <Text key={role} size="sm">
            <b>{role}</b> {roleText[role]}
          </Text>
        ))}
      </Section>
      <ConfirmDialog
        isOpen={!!confirming}
        title={`Remove ${confirming?.email ?? ''}?`}
        action="Remove"
        isPending={remove.isPending}
        onConfirm={() =>
          confirming && remove.mutate({ params: { userId: confirming.userId } }, { onSettled: () => setConfirming(undefined) })
        }
        onClose={() => setConfirming(undefined)}
      >
        Their sessions and access tokens for this organisation are revoked at once. Their projects and other objects are kept.
      </ConfirmDialog>
    </Page>
  )
}
