import { IconMapOff } from '@tabler/icons-react'
import { EmptyState } from '../components/empty-state.tsx'
import { Page } from '../components/page.tsx'
import { ButtonLink } from '../components/router-link.tsx'

export function NotFound() {
  return (
    <main>
      <Page title="Nothing is here">
        <EmptyState
          icon={IconMapOff}
          title="This address leads nowhere"
          actions={<ButtonLink to="/">To the projects</ButtonLink>}
        >
          It may have been deleted, or the link is not complete.
        </EmptyState>
      </Page>
    </main>
  )
}
