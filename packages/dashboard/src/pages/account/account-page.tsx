import { contract } from '@berth/contract'
import { Anchor, SegmentedControl, Text, useMantineColorScheme } from '@mantine/core'
import { ActionButton } from '../../components/action-button.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { Facts } from '../../components/facts.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { RouterLink } from '../../components/router-link.tsx'
import { Section } from '../../components/section.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useRead } from '../../data/read.ts'
import { useHealth, useSession, useSignOut } from '../../data/session.ts'
import { roleText } from '../../text/role-text.ts'
import { PasskeysSection } from './passkeys-section.tsx'
import { PasswordSection } from './password-section.tsx'
import { SessionsSection } from './sessions-section.tsx'
import { TwoFactorSection } from './two-factor-section.tsx'

const schemes = [
  { value: 'auto', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

/** The signed-in user and their preferences. */
export function AccountPage() {
  const session = useSession()
  const health = useHealth()
  const signOut = useSignOut()
  const organizations = useRead(contract.access.listOrganizations, { query: {} })
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <Page
      title="Your account"
      actions={
        <ActionButton variant="default" loading={signOut.isPending} onClick={() => signOut.mutate(undefined)}>
          Sign out
        </ActionButton>
      }
    >
      <Loaded query={session}>
        {({ user, role, organization, expiresAt }) => (
          <Section title="You">
            <Facts
              facts={[
                ['E-mail address', user.email],
                ['Name', user.name],
                ['Member since', <TimeAgo key="since" time={user.createdAt} />],
                [`Role in ${organization.name}`, role],
                ['Session expires', expiresAt && <TimeAgo time={expiresAt} />],
              ]}
            />
            <Text size="sm" c="dimmed" mt="md">
              As {role} you {roleText[role].replace('their own', 'your own')}
            </Text>
          </Section>
        )}
      </Loaded>
      <PasswordSection />
      <PasskeysSection />
      <TwoFactorSection />
      <SessionsSection />
      <Section title="Theme">
        <SegmentedControl
          aria-label="Theme"
          data={schemes}
          value={colorScheme}
          onChange={(value) => setColorScheme(value as typeof colorScheme)}
        />
      </Section>
      <Section title="Your organisations" isFlush>
        <Loaded query={organizations}>
          {(rows) => (
            <DataTable
              label="Organisations"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: 'Organisation', isHeading: true, cell: ({ name }) => name },
                { title: 'Role', cell: ({ role }) => role ?? '–' },
                { title: 'Created', cell: ({ createdAt }) => <TimeAgo time={createdAt} /> },
              ]}
            />
          )}
        </Loaded>
      </Section>
      <Section title="More">
        <Text size="sm">
          <RouterLink to="/organization/tokens">Access tokens</RouterLink> ·{' '}
          <RouterLink to="/notifications/settings">Notification channels</RouterLink> ·{' '}
          <Anchor href="/api/docs">API reference</Anchor>
        </Text>
        {health.data && (
          <Text size="sm" c="dimmed" mt="xs">
            Berth {health.data.version}, {health.data.mode}.{' '}
            {health.data.isolation && `Isolation: ${health.data.isolation.message}.`}
          </Text>
        )}
      </Section>
    </Page>
  )
}
