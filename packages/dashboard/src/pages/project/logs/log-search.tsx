import { contract } from '@berth/contract'
import { Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useMemo, useState } from 'react'
import { ErrorState } from '../../../components/error-state.tsx'
import { LogViewer } from '../../../components/log-viewer.tsx'
import { Section } from '../../../components/section.tsx'
import { useRead } from '../../../data/read.ts'
import { countLines } from '../../../rules/log-counts.ts'
import { plural } from '../../../text/sizes.ts'
import classes from './log-search.module.css'

const ranges = [
  { value: '900', label: 'Last 15 minutes' },
  { value: '3600', label: 'Last hour' },
  { value: '86400', label: 'Last 24 hours' },
  { value: '604800', label: 'Last 7 days' },
]
const maxLines = 5000

/** Searches the stored log of a time range on the server, with the number of matches over time. */
export function LogSearch({ projectId, slug, service }: { projectId: string; slug: string; service: string }) {
  const [text, setText] = useState('')
  const [seconds, setSeconds] = useState('3600')
  const [q] = useDebouncedValue(text.trim(), 300)
  // Fixed per range, so that the key of the read stays the same.
  const { from, to } = useMemo(() => rangeUntilNow(Number(seconds)), [seconds])
  const query = { tail: maxLines, since: new Date(from).toISOString(), ...(q ? { q } : {}), ...(service ? { service } : {}) }
  const found = useRead(contract.projects.logs, { params: { id: projectId }, query }, { keepsPreviousData: true })
  const lines = useMemo(
    () => (found.data ?? []).map((line, at) => ({ ...line, id: line.id ?? `${line.time} ${at}`, origin: line.service })),
    [found.data],
  )
  const counts = useMemo(() => countLines(lines, from, Math.max(to, Date.now())), [lines, from, to])
  const highest = Math.max(1, ...counts.map(({ count }) => count))
  return (
    <Section
      isFlush
      title="Search"
      actions={
        <Group gap="xs">
          <TextInput
            size="xs"
            aria-label="Text to find"
            placeholder="Text to find"
            leftSection={<IconSearch size={14} />}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <NativeSelect
            size="xs"
            aria-label="Time range"
            value={seconds}
            data={ranges}
            onChange={(event) => setSeconds(event.currentTarget.value)}
          />
        </Group>
      }
    >
      {found.error && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      <div className={classes.counts}>
        <Text size="sm" role="status">
          {lines.length >= maxLines
            ? `The newest ${plural(maxLines, 'match', 'matches')}`
            : plural(lines.length, 'match', 'matches')}
        </Text>
        <div className={classes.bars} aria-hidden>
          {counts.map(({ at, count, errors }) => (
            <span
              key={at}
              data-errors={errors > 0 || undefined}
              title={`${new Date(at).toLocaleString('en-GB')}: ${plural(count, 'line')}`}
              style={{ height: `${(100 * count) / highest}%` }}
            />
          ))}
        </div>
      </div>
      <LogViewer
        label="the search results"
        lines={lines}
        height="30rem"
        empty="No matching lines in this time range."
        fileName={`${slug}-search.log`}
      />
    </Section>
  )
}

function rangeUntilNow(seconds: number): { from: number; to: number } {
  const to = Date.now()
  return { from: to - seconds * 1000, to }
}
