import type { ReactNode } from 'react'
import { ErrorState } from './error-state.tsx'
import { SkeletonRows } from './skeleton-rows.tsx'

interface Props<Data> {
  query: { data: Data; error: unknown; refetch(): unknown }
  /** A placeholder of the same shape as the content, so that the layout does not jump. */
  skeleton?: ReactNode
  children(data: NonNullable<Data>): ReactNode
}

/**
 * Shows a read's state: a skeleton, an error with a retry button, or the data. Earlier data stays visible if a later read fails.
 */
export function Loaded<Data>({ query, skeleton = <SkeletonRows />, children }: Props<Data>) {
  if (query.data !== undefined && query.data !== null) return children(query.data)
  if (query.error) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return skeleton
}
