import { contract, type Level, levels, type Project } from '@berth/contract'
import { Group, NativeSelect, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { RowButton } from '../../../components/row-button.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { useChange } from '../../../data/change.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

interface Props {
  project: Pick<Project, 'id'>
  title?: string
  actions?: ReactNode
}

/** Grants: members whose access to this project differs from their role's. */
export function GrantSection({ project: { id }, title = 'Access', actions }: Props) {
  const params = { id }
  const refusal = useProjectRefusal(id, 'admin')
  const grants = useRead(contract.access.listGrants, { params, query: {} })
  const members = useRead(contract.access.listMembers, { query: {} })
  const [userId, setUserId] = useState('')
  const [level, setLevel] = useState<Level>('write')
  const change = useChange(contract.access.setGrant, { refreshes: [contract.access.listGrants], successMessage: 'Saved.' })
  return (
    <Section
      title={title}
      actions={actions}
      description="Members have the access of their role. A grant changes the access of one member to this project."
      isFlush
    >
      {grants.data && grants.data.length > 0 && (
        <DataTable
          label="Grants"
          rows={grants.data}
          keyOf={(one) => one.userId}
          columns={[
            { title: 'User', isHeading: true, cell: ({ email }) => email },
            { title: 'Access', cell: (one) => one.level },
            { title: 'Changed', isWide: true, cell: ({ updatedAt }) => <TimeAgo time={updatedAt} /> },
            {
              title: '',
              alignRight: true,
              cell: (one) => (
                <RowButton
                  refusal={refusal}
                  aria-label={`Remove the grant of ${one.email}`}
                  onClick={() => change.mutate({ params, body: { userId: one.userId, level: null } })}
                >
                  Remove grant
                </RowButton>
              ),
            },
          ]}
        />
      )}
      {refusal && (
        <Text size="sm" c="dimmed" px={{ base: 'md', sm: 'lg' }} pb="lg">
          {grants.data?.length === 0 && 'No grants. '}
          {refusal}
        </Text>
      )}
      {!refusal && (
        <form onSubmit={submitting(() => change.mutate({ params, body: { userId, level } }))}>
          <Group align="flex-end" gap="sm" px={{ base: 'md', sm: 'lg' }} pb="lg" pt="xs">
            <NativeSelect
              flex="2 1 12rem"
              label="User"
              required
              value={userId}
              data={[
                { value: '', label: 'Choose…' },
                ...(members.data ?? []).map((one) => ({ value: one.userId, label: `${one.email} (${one.role})` })),
              ]}
              onChange={(event) => setUserId(event.currentTarget.value)}
            />
            <NativeSelect
              flex="1 1 8rem"
              label="Access"
              value={level}
              data={[...levels]}
              onChange={(event) => setLevel(event.currentTarget.value as Level)}
            />
            <ActionButton
              type="submit"
              variant="default"
              refusal={userId ? undefined : 'Choose a member first.'}
              loading={change.isPending}
            >
              Grant
            </ActionButton>
          </Group>
        </form>
      )}
      {grants.error && (
        <Text size="sm" p="md">
          {grants.error.message}
        </Text>
      )}
    </Section>
  )
}
