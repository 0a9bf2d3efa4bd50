import { contract } from '@berth/contract'
import { Text } from '@mantine/core'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Section } from '../../components/section.tsx'
import { useRead } from '../../data/read.ts'
import { AddChannel } from './add-channel.tsx'
import { ChannelTable } from './channel-table.tsx'
import { ChoiceMatrix } from './choice-matrix.tsx'
import { DefaultsSection } from './defaults-section.tsx'

/** The user's notification channels and categories. */
export function NotificationSettingsPage() {
  const channels = useRead(contract.notifications.listChannels, { query: {} })
  return (
    <Page
      title="Notification settings"
      description="These channels and choices are yours. Without a choice of your own, the defaults of the organisation apply."
    >
      <Section title="Channels" isFlush description="A channel must pass a test before it is used.">
        <Loaded query={channels}>{(rows) => <ChannelTable channels={rows} />}</Loaded>
      </Section>
      <Loaded query={channels}>{(rows) => <AddChannel isFirst={rows.every(({ kind }) => kind === 'in_app')} />}</Loaded>
      <Section title="Notifications" isFlush description="Your choice overrides the default.">
        <Loaded query={channels}>
          {(rows) =>
            rows.length > 0 ? (
              <ChoiceMatrix channels={rows} />
            ) : (
              <Text size="sm" c="dimmed" px={{ base: 'md', sm: 'lg' }} pb="lg">
                Add a channel to choose its events.
              </Text>
            )
          }
        </Loaded>
      </Section>
      <DefaultsSection />
    </Page>
  )
}
