import { type AuditEntry, contract } from '@berth/contract'
import { NativeSelect, Text } from '@mantine/core'
import { IconListSearch } from '@tabler/icons-react'
import { useMemo, useState } from 'react'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Page } from '../../components/page.tsx'
import { Section } from '../../components/section.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useRead } from '../../data/read.ts'
import { useList } from '../../data/read-list.ts'
import { auditChoices, auditText } from '../../text/audit-text.ts'
import classes from './audit-page.module.css'
import { ChainCheck } from './chain-check.tsx'

const columnsFor = (nameOf: (id: string) => string | undefined): Column<AuditEntry>[] => [
  { title: 'Time', width: '9rem', cell: ({ at }) => <TimeAgo time={at} /> },
  {
    title: 'Event',
    isHeading: true,
    cell: (entry) => (
      <div>
        <Text size="sm" className="wrap-anywhere">
          <b>{entry.userEmail ?? (entry.userId ? 'A former user' : 'A visitor')}</b> {auditText(entry, nameOf)}
          {entry.tokenId && ' (by token)'}
        </Text>
        <Details entry={entry} />
      </div>
    ),
  },
  { title: 'IP address', alignRight: true, cell: ({ ip }) => ip ?? '–' },
]

const choices = [{ value: '', label: 'All events' }, ...auditChoices()]

/** The recorded request: method, path, object and fields. Secret values were never recorded. */
function Details({ entry: { action, objectKind, objectId, changes } }: { entry: AuditEntry }) {
  const fields = JSON.stringify(changes, null, 2)
  return (
    <details className={classes.details}>
      <summary>Details</summary>
      <pre>
        {[action, [objectKind, objectId].filter(Boolean).join(' '), fields === '{}' ? '' : fields].filter(Boolean).join('\n')}
      </pre>
    </details>
  )
}

/** Every write with its user and address; each entry contains the hash of the previous one. */
export function AuditPage() {
  const [action, setAction] = useState('')
  const projects = useRead(contract.projects.home, {})
  const columns = useMemo(() => {
    const names = new Map(projects.data?.map(({ id, name }) => [id, name]))
    return columnsFor((id) => names.get(id))
  }, [projects.data])
  const list = useList(contract.access.auditLog, { query: { limit: 100, ...(action ? { action } : {}) } })
  return (
    <Page
      title="Audit log"
      description="Every change with its user and address. Entries are chained by hashes, so tampering is detected."
    >
      <ChainCheck />
      <Section
        isFlush
        actions={
          <NativeSelect
            size="xs"
            maw="16rem"
            aria-label="Filter by event"
            value={action}
            data={choices}
            onChange={(event) => setAction(event.currentTarget.value)}
          />
        }
      >
        <Loaded query={list}>
          {(rows) =>
            rows.length === 0 ? (
              <EmptyState icon={IconListSearch} title="No matching entries">
                Choose another event, or all events.
              </EmptyState>
            ) : (
              <DataTable isDense label="Audit log" columns={columns} rows={rows} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
        <MoreButton list={list} />
      </Section>
    </Page>
  )
}
