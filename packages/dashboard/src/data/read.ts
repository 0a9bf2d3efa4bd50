import type { AnyRoute, ReplyOf } from '@berth/contract'
import type { CallInput } from '@berth/contract/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { call } from '../client.ts'
import { keyOf } from './query-key.ts'

/** The content of a reply: the value of `data`, or the whole body if the spec defines it without `data`. */
export type Content<T extends AnyRoute> = ReplyOf<T> extends { data: infer D } ? D : ReplyOf<T>

export interface ReadOptions<Data> {
  isWanted?: boolean
  /** Repeats the read after this many milliseconds, or as computed from the data; not in a hidden tab. */
  everyMs?: number | false | ((data: Data | undefined) => number | false)
  /** Shows the last data while a read with another input is running. */
  keepsLast?: boolean
}

/** A read of the API, cached by route and input. */
export function useRead<T extends AnyRoute>(row: T, input: CallInput<T>, options: ReadOptions<Content<T>> = {}) {
  return useQuery({ ...readOptions(row, input), ...queryOptions<T, Content<T>>(options, contentOf), select: contentOf<T> })
}

/** The same with the whole reply, for replies with more than `data`. */
export function useReply<T extends AnyRoute>(row: T, input: CallInput<T>, options: ReadOptions<ReplyOf<T>> = {}) {
  return useQuery({ ...readOptions(row, input), ...queryOptions<T, ReplyOf<T>>(options, (reply) => reply) })
}

export const readOptions = <T extends AnyRoute>(row: T, input: CallInput<T>) => ({
  queryKey: keyOf(row, input),
  queryFn: ({ signal }: { signal: AbortSignal }) => call(row as AnyRoute, { ...input, abort: signal }) as Promise<ReplyOf<T>>,
})

const queryOptions = <T extends AnyRoute, Data>(
  { isWanted = true, everyMs = false, keepsLast = false }: ReadOptions<Data>,
  view: (reply: ReplyOf<T>) => Data,
) => ({
  enabled: isWanted,
  refetchInterval:
    typeof everyMs === 'function'
      ? ({ state }: { state: { data: ReplyOf<T> | undefined } }) =>
          everyMs(state.data === undefined ? undefined : view(state.data))
      : everyMs,
  ...(keepsLast ? { placeholderData: keepPreviousData } : {}),
})

function contentOf<T extends AnyRoute>(reply: ReplyOf<T>): Content<T> {
  const wrapped = reply as { data?: unknown } | undefined
  return (wrapped && typeof wrapped === 'object' && 'data' in wrapped ? wrapped.data : reply) as Content<T>
}
