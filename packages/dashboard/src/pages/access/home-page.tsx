import { Alert, Badge, Button, Center, Group, Loader, Stack, Text } from '@mantine/core'
import { FrontPage } from '../../components/front-page.tsx'
import { useSession, useSignOut } from '../../queries/access.ts'
import { SignInPage } from './sign-in-page.tsx'

export function HomePage() {
  const session = useSession()
  const signOut = useSignOut()
  if (session.isPending)
    return (
      <Center mih="100vh">
        <Loader aria-label="Loading" />
      </Center>
    )
  if (session.error)
    return (
      <FrontPage title="Not reachable">
        <Alert color="red">{session.error.message}</Alert>
        <Button mt="md" onClick={() => session.refetch()}>
          Try again
        </Button>
      </FrontPage>
    )
  if (!session.data) return <SignInPage />
  const { user, organization, role } = session.data
  return (
    <FrontPage title={organization.name}>
      <Stack>
        <Group justify="space-between">
          <Text>{user.email}</Text>
          <Badge variant="light">{role}</Badge>
        </Group>
        <Button variant="default" loading={signOut.isPending} onClick={() => signOut.mutate(undefined)}>
          Sign out
        </Button>
      </Stack>
    </FrontPage>
  )
}
