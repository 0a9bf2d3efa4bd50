import type { ErrorComponentProps } from '@tanstack/react-router'
import { ErrorState } from './error-state.tsx'
import { Page } from './page.tsx'

/** A page that could not be fetched or drawn; after an update of the server the old files are gone, and loading anew helps. */
export function RouteFailure({ error }: ErrorComponentProps) {
  return (
    <Page title="This page failed to load">
      <ErrorState error={error} onRetry={() => window.location.reload()} />
    </Page>
  )
}
