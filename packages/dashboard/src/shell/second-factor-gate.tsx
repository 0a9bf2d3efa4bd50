import { Button, Group, Text } from '@mantine/core'
import { useEffect } from 'react'
import { FrontPage } from '../components/front-page.tsx'
import { useSession } from '../data/session.ts'
import { TwoFactorSection } from '../pages/account/two-factor-section.tsx'
import { AccountMenu } from './account-menu.tsx'

/** The only page of a member whose organisation requires two-factor authentication, until it is set up. */
export function SecondFactorGate({ onRecoveryCodes }: { onRecoveryCodes(areShown: boolean): void }) {
  const session = useSession()
  useEffect(() => () => onRecoveryCodes(false), [onRecoveryCodes])
  return (
    <FrontPage title="Set up two-factor authentication">
      <Text mb="md">
        {session.data?.organization.name} requires two-factor authentication. Turn it on to get access again. Nothing was deleted.
      </Text>
      <TwoFactorSection
        onRecoveryCodes={(areShown) => {
          onRecoveryCodes(areShown)
          if (!areShown) void session.refetch()
        }}
      />
      <Group mt="md" justify="space-between">
        <Button variant="default" loading={session.isFetching} onClick={() => void session.refetch()}>
          I have set it up elsewhere
        </Button>
        <AccountMenu />
      </Group>
    </FrontPage>
  )
}
