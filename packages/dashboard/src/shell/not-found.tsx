import { IconMapOff } from '@tabler/icons-react'
import { EmptyState } from '../components/empty-state.tsx'
import { Page } from '../components/page.tsx'
import { ButtonLink } from '../components/router-link.tsx'

export function NotFound() {
  return (
    <main>
      <Page title="Not found">
        <EmptyState icon={IconMapOff} title="This page does not exist" actions={<ButtonLink to="/">Go to projects</ButtonLink>}>
          It may have been deleted, or the link is not complete.
        </EmptyState>
      </Page>
    </main>
  )
}
