import type { AnyRoute } from '@berth/contract'
import type { QueryClient } from '@tanstack/react-query'
import { keyOf } from './query-key.ts'

/**
 * Repeats the reads of these routes. The first read of a route may still be in flight and older than the event that calls for a
 * refresh; invalidation alone would wait for its outdated reply, so that read is started again.
 */
export async function refresh(queries: QueryClient, ...routes: readonly AnyRoute[]): Promise<void> {
  await Promise.all(
    routes.map(async (route) => {
      const queryKey = keyOf(route)
      await queries.cancelQueries({ queryKey, predicate: ({ state }) => state.data === undefined })
      await queries.invalidateQueries({ queryKey })
    }),
  )
}
