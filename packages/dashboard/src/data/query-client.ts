import { contract } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { lostConnections } from './lost-connections.ts'
import { keyOf } from './query-key.ts'

const requestConnection = Symbol('requests')

/**
 * Reads the session again after a 401, as it may have ended in another tab, and when the organisation has begun to require a second
 * factor. Tracks lost connections.
 */
function handleError(error: unknown, key?: readonly unknown[]) {
  if (!(error instanceof ApiError)) return lostConnections.set(requestConnection, error instanceof TypeError)
  const isSession = key?.[0] === contract.access.session.at
  const isSessionStale = error.status === 401 || error.code === 'second_factor_not_set_up'
  if (isSessionStale && !isSession) void queries.invalidateQueries({ queryKey: keyOf(contract.access.session) })
}

export const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => handleError(error, query.queryKey),
    onSuccess: () => lostConnections.set(requestConnection, false),
  }),
  mutationCache: new MutationCache({ onError: (error) => handleError(error) }),
  defaultOptions: {
    queries: {
      // Only network errors are retried: the server would reject the request again.
      retry: (failures, error) => !(error instanceof ApiError) && failures < 3,
      retryDelay: (failures) => Math.min(8000, 500 * 2 ** failures),
      staleTime: 2000,
      refetchOnWindowFocus: true,
    },
  },
})
