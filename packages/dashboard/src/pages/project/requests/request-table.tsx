import { IconListDetails } from '@tabler/icons-react'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import type { RequestLine } from '../../../data/project-requests.ts'
import { sizeText } from '../../../text/sizes.ts'
import { clockTime, durationText, exactTime } from '../../../text/times.ts'
import classes from './request-table.module.css'

const columns: Column<RequestLine>[] = [
  {
    title: 'Time',
    cell: ({ time }) => (
      <time dateTime={time} title={exactTime(time)}>
        {clockTime(time)}
      </time>
    ),
  },
  {
    title: 'Status',
    cell: ({ status }) => (
      <span className={classes.status} data-class={Math.floor(status / 100)}>
        {status}
      </span>
    ),
  },
  {
    title: 'Request',
    isHeading: true,
    cell: ({ method, path }) => (
      <span className="mono">
        <b>{method}</b> {path}
      </span>
    ),
  },
  { title: 'Duration', alignRight: true, cell: ({ durationMs }) => durationText(durationMs) },
  { title: 'Sent', alignRight: true, isWide: true, cell: ({ bytesOut }) => sizeText(bytesOut) },
  { title: 'IP address', isWide: true, cell: ({ ip, userAgent }) => <span title={userAgent ?? undefined}>{ip}</span> },
]

export function RequestTable({ requests }: { requests: readonly RequestLine[] }) {
  if (requests.length === 0)
    return (
      <EmptyState icon={IconListDetails} title="No requests">
        No request matches, or none has arrived. New requests appear here.
      </EmptyState>
    )
  return <DataTable label="Requests" isDense columns={columns} rows={requests} keyOf={({ id }) => id} />
}
