import { type AuditEntry, contract } from '@berth/contract'
import { Code, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconListSearch } from '@tabler/icons-react'
import { useState } from 'react'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Page } from '../../components/page.tsx'
import { Section } from '../../components/section.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useList } from '../../data/read-list.ts'
import { ChainCheck } from './chain-check.tsx'

const columns: Column<AuditEntry>[] = [
  { title: 'Time', width: '9rem', cell: ({ at }) => <TimeAgo time={at} /> },
  {
    title: 'User',
    width: '13rem',
    cell: ({ userEmail, tokenId }) => (
      <span className="wrap-anywhere">{`${userEmail ?? 'not signed in'}${tokenId ? ' (by token)' : ''}`}</span>
    ),
  },
  {
    title: 'Action',
    isHeading: true,
    cell: ({ action, objectKind, objectId, changes }) => {
      const text = JSON.stringify(changes)
      return (
        <div>
          <Code>{action}</Code>
          <Text size="xs" c="dimmed" title={text === '{}' ? undefined : text} lineClamp={2}>
            <span title={objectId ?? undefined}>{objectKind}</span> {text === '{}' ? '' : text}
          </Text>
        </div>
      )
    },
  },
  { title: 'IP address', isWide: true, isNumber: true, cell: ({ ip }) => ip ?? '–' },
]

/** Every write with its user and address; each entry contains the hash of the previous one. */
export function AuditPage() {
  const [action, setAction] = useState('')
  const [settled] = useDebouncedValue(action.trim(), 300)
  const list = useList(contract.access.auditLog, { query: { limit: 100, ...(settled ? { action: settled } : {}) } })
  return (
    <Page
      title="Audit log"
      description="Every change with its user and address. Entries are chained by hashes, so tampering is detected."
    >
      <ChainCheck />
      <Section
        isFlush
        actions={
          <TextInput
            size="xs"
            aria-label="Action"
            placeholder="POST /projects"
            value={action}
            onChange={(event) => setAction(event.currentTarget.value)}
          />
        }
      >
        <Loaded query={list}>
          {(rows) =>
            rows.length === 0 ? (
              <EmptyState icon={IconListSearch} title="No matching entries">
                An action is named by its method and path, as in POST /projects.
              </EmptyState>
            ) : (
              <DataTable label="Audit log" columns={columns} rows={rows} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
        <MoreButton list={list} />
      </Section>
    </Page>
  )
}
