import { contract } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { lostConnections } from './lost-connections.ts'
import { keyOf } from './query-key.ts'

const request = Symbol('reads')

/** A session that has ended, here or elsewhere, is noticed by whichever call comes next. */
function noticeEnd(error: unknown, key?: readonly unknown[]) {
  if (!(error instanceof ApiError)) return lostConnections.set(request, error instanceof TypeError)
  const isSession = key?.[0] === contract.access.session.at
  if (error.status === 401 && !isSession) void queries.invalidateQueries({ queryKey: keyOf(contract.access.session) })
}

export const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => noticeEnd(error, query.queryKey),
    onSuccess: () => lostConnections.set(request, false),
  }),
  mutationCache: new MutationCache({ onError: (error) => noticeEnd(error) }),
  defaultOptions: {
    queries: {
      // What the server refused it refuses again; a connection may come back.
      retry: (failures, error) => !(error instanceof ApiError) && failures < 3,
      retryDelay: (failures) => Math.min(8000, 500 * 2 ** failures),
      staleTime: 2000,
      refetchOnWindowFocus: true,
    },
  },
})
