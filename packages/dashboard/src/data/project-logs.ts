import { contract, type ReplyOf } from '@berth/contract'
import { useEffect } from 'react'
import { useBatches } from './deployment-stream.ts'
import { useRead } from './read.ts'
import { useStream } from './stream.ts'

type Line = ReplyOf<typeof contract.projects.logs>['data'][number]

/** Runtime log lines: the last ones, then new ones until paused. */
export function useProjectLogs(id: string, filter: { service?: string; deployment?: string }, isPaused: boolean) {
  const input = { params: { id }, query: { tail: 500, ...filter } }
  const { lines, add } = useBatches<Line>(JSON.stringify(input))
  const recent = useRead(contract.projects.logs, input)
  const { data } = recent
  useEffect(() => {
    for (const line of data ?? []) add(line)
  }, [data, add])
  const state = useStream(
    contract.projects.streamLogs,
    { params: { id }, query: { tail: 100, ...filter } },
    {
      isEnabled: !isPaused && data !== undefined,
      pausesWhenHidden: true,
      onEvent: ({ event, data: line }) => event === 'log' && add(line),
    },
  )
  // Received lines are rendered a moment later: until then the page must not claim that there are none.
  const isReady = data !== undefined && (data.length === 0 || lines.length > 0)
  return { lines, state, error: recent.error, refetch: recent.refetch, isReady }
}
