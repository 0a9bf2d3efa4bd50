import { contract, programName, type SessionRecord } from '@berth/contract'
import { Text } from '@mantine/core'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { RowButton } from '../../components/row-button.tsx'
import { Section } from '../../components/section.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'

/** Where the user is signed in. */
export function SessionsSection() {
  const sessions = useRead(contract.access.listSessions, { query: {} })
  const end = useChange(contract.access.endSession, {
    refreshes: [contract.access.listSessions],
    successMessage: 'Session ended.',
  })
  const columns: Column<SessionRecord>[] = [
    {
      title: 'Signed in with',
      isHeading: true,
      cell: ({ userAgent, current }) => (
        <Text size="sm" className="wrap-anywhere">
          <span title={userAgent ?? undefined}>{programName(userAgent) ?? 'Unknown program'}</span>
          {current && ' (this session)'}
        </Text>
      ),
    },
    { title: 'IP address', cell: ({ ip }) => ip ?? '–' },
    { title: 'Signed in', isWide: true, cell: ({ createdAt }) => <TimeAgo time={createdAt} /> },
    { title: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt ? <TimeAgo time={lastUsedAt} /> : '–') },
    {
      title: '',
      alignRight: true,
      cell: ({ id, current, ip }) =>
        !current && (
          <RowButton
            aria-label={`End the session from ${ip ?? 'an unknown address'}`}
            onClick={() => end.mutate({ params: { id } })}
          >
            End
          </RowButton>
        ),
    },
  ]
  return (
    <Section title="Sessions" isFlush>
      <Loaded query={sessions}>
        {(rows) => <DataTable label="Sessions" rows={rows} keyOf={({ id }) => id} columns={columns} />}
      </Loaded>
    </Section>
  )
}
