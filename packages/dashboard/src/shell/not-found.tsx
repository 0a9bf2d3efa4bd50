import { Text } from '@mantine/core'
import { FrontPage } from '../components/front-page.tsx'
import { ButtonLink } from '../components/router-link.tsx'

export const NotFound = () => (
  <FrontPage title="This page does not exist">
    <Text size="sm" mb="md">
      It may have been deleted, or the link is not complete.
    </Text>
    <ButtonLink to="/">Go to projects</ButtonLink>
  </FrontPage>
)
