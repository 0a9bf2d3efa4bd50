import type { AnyRoute, ReplyOf } from '@berth/contract'
import type { CallInput } from '@berth/contract/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { call } from './client.ts'
import { keyOf } from './query-key.ts'

type Item<T extends AnyRoute> = ReplyOf<T> extends { data: (infer I)[] } ? I : never

interface Options {
  isEnabled?: boolean
  refetchIntervalMs?: number | false
}

/** A paged list of the API. */
export function useList<T extends AnyRoute>(
  route: T,
  input: CallInput<T>,
  { isEnabled = true, refetchIntervalMs = false }: Options = {},
) {
  const inputWithQuery = input as { query?: Record<string, unknown> }
  const pages = useInfiniteQuery({
    queryKey: [...keyOf(route, input), 'pages'],
    initialPageParam: undefined as string | undefined,
    enabled: isEnabled,
    refetchInterval: refetchIntervalMs,
    queryFn: ({ pageParam, signal }) =>
      call(route as AnyRoute, { ...input, query: { ...inputWithQuery.query, cursor: pageParam }, abort: signal }) as Promise<{
        data: Item<T>[]
        nextCursor: string | null
      }>,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  })
  const { error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = pages
  const data = pages.data?.pages.flatMap((page) => page.data)
  return { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage }
}
