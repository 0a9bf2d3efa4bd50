import { contract, type ReplyOf } from '@berth/contract'
import { useMemo } from 'react'
import { useBatches } from './deployment-stream.ts'
import { useRead } from './read.ts'
import { useStream } from './stream.ts'

export type RequestLine = ReplyOf<typeof contract.projects.recentRequests>['data'][number]

export interface RequestFilter {
  status?: string
  method?: string
  path?: string
}

/** HTTP requests: the recent ones and new ones, newest first. */
export function useProjectRequests(id: string, filter: RequestFilter, isPaused: boolean) {
  const recent = useRead(contract.projects.recentRequests, { params: { id }, query: { limit: 200, ...filter } })
  const { lines, add } = useBatches<RequestLine>(JSON.stringify([id, filter]))
  const state = useStream(
    contract.projects.streamRequests,
    { params: { id }, query: filter },
    {
      isEnabled: !isPaused,
      pausesWhenHidden: true,
      onEvent: ({ event, data }) => event === 'request' && add(data),
    },
  )
  const requests = useMemo(() => {
    const all = new Map([...(recent.data ?? []), ...lines].map((one) => [one.id, one]))
    return [...all.values()].sort((a, b) => (a.time < b.time ? 1 : -1)).slice(0, maxShown)
  }, [recent.data, lines])
  return { ...recent, requests, state }
}

const maxShown = 1000
