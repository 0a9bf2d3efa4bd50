import type { ErrorComponentProps } from '@tanstack/react-router'
import { ErrorState } from './error-state.tsx'
import { Page } from './page.tsx'

/** Shown if a page fails to load or render. After an update of the server the old files no longer exist: a reload helps. */
export function RouteFailure({ error }: ErrorComponentProps) {
  return (
    <Page title="This page failed to load">
      <ErrorState error={error} onRetry={() => window.location.reload()} />
    </Page>
  )
}
