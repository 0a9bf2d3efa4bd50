import { Code, List, Stack, Text } from '@mantine/core'
import { FrontPage } from '../../components/front-page.tsx'

/** Shown on a new instance: only the operator, who can read its output or run its commands, becomes the owner. */
export const NotSetUp = () => (
  <FrontPage title="This instance has no owner yet">
    <Stack gap="sm">
      <Text size="sm">Open the set-up link to create the first account. It works once. To find it:</Text>
      <List size="sm" spacing="xs" type="ordered">
        <List.Item>
          In the terminal that started Berth, look for the line <Code>set up (once)</Code>. For a service or a container, it is at
          the start of the log.
        </List.Item>
        <List.Item>Or restart Berth: it prints a new link, and the old one stops working.</List.Item>
        <List.Item>
          Or run this on the server: <Code className="wrap-anywhere">berth admin create --email you@example.com</Code>
        </List.Item>
      </List>
    </Stack>
  </FrontPage>
)
