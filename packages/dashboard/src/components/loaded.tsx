import type { ReactNode } from 'react'
import { ErrorState } from './error-state.tsx'
import { SkeletonRows } from './skeleton-rows.tsx'

interface Props<Data> {
  query: { data: Data; error: unknown; refetch(): unknown }
  /** In the shape of what will be there, so that nothing jumps. */
  skeleton?: ReactNode
  children(data: NonNullable<Data>): ReactNode
}

/** A read as it goes: skeleton, error with a way on, or what it holds. What was read before stays while a later read fails. */
export function Loaded<Data>({ query, skeleton = <SkeletonRows />, children }: Props<Data>) {
  if (query.data !== undefined && query.data !== null) return children(query.data)
  if (query.error) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return skeleton
}
