import type { AnyRoute, ReplyOf } from '@berth/contract'
import type { CallInput } from '@berth/contract/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { call } from '../client.ts'

/** What a reply is about: the inside of `{ data }`, or the whole where the spec spells the body out. */
export type Content<T extends AnyRoute> = ReplyOf<T> extends { data: infer D } ? D : ReplyOf<T>

/** The key of everything that was read by a row; the input makes it the key of one read. */
export const keyOf = (row: AnyRoute, input?: unknown) => (input === undefined ? [row.at] : [row.at, input])

export interface ReadOptions<Data> {
  isWanted?: boolean
  /** Ask again after so many milliseconds, or as what was read says; a hidden tab does not. */
  everyMs?: number | false | ((data: Data | undefined) => number | false)
  /** Show the last answer while one for another input is on its way. */
  keepsLast?: boolean
}

/** One read of the API, kept under its row and input. */
export function useRead<T extends AnyRoute>(row: T, input: CallInput<T>, options: ReadOptions<Content<T>> = {}) {
  return useQuery({ ...readOptions(row, input), ...queryOptions<T, Content<T>>(options, contentOf), select: contentOf<T> })
}

/** The same with all of the reply, for those that say more than `data`. */
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
