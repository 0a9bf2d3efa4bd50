import type { AnyRoute, ReplyOf } from '@berth/contract'
import type { CallInput } from '@berth/contract/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { call } from '../client.ts'
import { keyOf } from './query-key.ts'

type Item<T extends AnyRoute> = ReplyOf<T> extends { data: (infer I)[] } ? I : never

interface Options {
  isWanted?: boolean
  everyMs?: number | false
}

/** A list of the API, page after page. */
export function useList<T extends AnyRoute>(row: T, input: CallInput<T>, { isWanted = true, everyMs = false }: Options = {}) {
  const confirming = input as { query?: Record<string, unknown> }
  const pages = useInfiniteQuery({
    queryKey: [...keyOf(row, input), 'pages'],
    initialPageParam: undefined as string | undefined,
    enabled: isWanted,
    refetchInterval: everyMs,
    queryFn: ({ pageParam, signal }) =>
      call(row as AnyRoute, { ...input, query: { ...confirming.query, cursor: pageParam }, abort: signal }) as Promise<{
        data: Item<T>[]
        nextCursor: string | null
      }>,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  })
  const { error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = pages
  const data = pages.data?.pages.flatMap((page) => page.data)
  return { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage }
}
