import type { AnyRoute, ReplyOf } from '@berth/contract'
import type { CallInput } from '@berth/contract/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { call } from './client.ts'
import { keyOf } from './query-key.ts'

/** The content of a reply: the value of `data`, or the whole body if the spec defines it without `data`. */
export type Content<T extends AnyRoute> = ReplyOf<T> extends { data: infer D } ? D : ReplyOf<T>

export interface ReadOptions<Data> {
  isEnabled?: boolean
  /** Repeats the read after this many milliseconds, or as computed from the data; not in a hidden tab. */
  refetchIntervalMs?: number | false | ((data: Data | undefined) => number | false)
  /** Shows the last data while a read with another input is running. */
  keepsPreviousData?: boolean
}

/** A read of the API, cached by route and input. */
export function useRead<T extends AnyRoute>(route: T, input: CallInput<T>, options: ReadOptions<Content<T>> = {}) {
  return useQuery({ ...readOptions(route, input), ...queryOptions<T, Content<T>>(options, contentOf), select: contentOf<T> })
}

/** A read that returns the whole reply, for replies with more fields than `data`. */
export function useReply<T extends AnyRoute>(route: T, input: CallInput<T>, options: ReadOptions<ReplyOf<T>> = {}) {
  return useQuery({ ...readOptions(route, input), ...queryOptions<T, ReplyOf<T>>(options, (reply) => reply) })
}

export const readOptions = <T extends AnyRoute>(route: T, input: CallInput<T>) => ({
  queryKey: keyOf(route, input),
  queryFn: ({ signal }: { signal: AbortSignal }) => call(route as AnyRoute, { ...input, abort: signal }) as Promise<ReplyOf<T>>,
})

const queryOptions = <T extends AnyRoute, Data>(
  { isEnabled = true, refetchIntervalMs = false, keepsPreviousData = false }: ReadOptions<Data>,
  view: (reply: ReplyOf<T>) => Data,
) => ({
  enabled: isEnabled,
  refetchInterval:
    typeof refetchIntervalMs === 'function'
      ? ({ state }: { state: { data: ReplyOf<T> | undefined } }) =>
          refetchIntervalMs(state.data === undefined ? undefined : view(state.data))
      : refetchIntervalMs,
  ...(keepsPreviousData ? { placeholderData: keepPreviousData } : {}),
})

function contentOf<T extends AnyRoute>(reply: ReplyOf<T>): Content<T> {
  const wrapped = reply as { data?: unknown } | undefined
  return (wrapped && typeof wrapped === 'object' && 'data' in wrapped ? wrapped.data : reply) as Content<T>
}
