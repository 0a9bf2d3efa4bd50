import { contract } from '@berth/contract'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Section } from '../../components/section.tsx'
import { useRead } from '../../data/read.ts'
import { AddChannel } from './add-channel.tsx'
import { ChannelTable } from './channel-table.tsx'
import { ChoiceMatrix } from './choice-matrix.tsx'

/** How you are reached, and about what. */
export function NotificationSettingsPage() {
  const channels = useRead(contract.notifications.listChannels, { query: {} })
  return (
    <Page
      title="Channels and choices"
      description="Your own: everybody chooses for themselves. The organisation's defaults hold for those who have not chosen."
    >
      <Section title="Channels" isFlush description="A channel has to pass a test before it is used.">
        <Loaded query={channels}>{(rows) => <ChannelTable channels={rows} />}</Loaded>
      </Section>
      <AddChannel />
      <Section title="What you are told of" isFlush description="An explicit choice beats the default, in both directions.">
        <Loaded query={channels}>{(rows) => <ChoiceMatrix channels={rows} />}</Loaded>
      </Section>
    </Page>
  )
}
