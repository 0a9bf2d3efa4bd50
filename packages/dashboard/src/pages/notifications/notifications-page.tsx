import { contract } from '@berth/contract'
import { Switch } from '@mantine/core'
import { IconBellCheck, IconSettings } from '@tabler/icons-react'
import { useState } from 'react'
import { EmptyState } from '../../components/empty-state.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Page } from '../../components/page.tsx'
import { ButtonLink } from '../../components/router-link.tsx'
import { Section } from '../../components/section.tsx'
import { useList } from '../../data/read-list.ts'
import { Feed } from './feed.tsx'
import { MarkAllSeen } from './mark-all-seen.tsx'

/** What you were told, newest first; new ones come by themselves. */
export function NotificationsPage() {
  const [isUnseen, setUnseen] = useState(false)
  const list = useList(contract.notifications.listDeliveries, { query: { limit: 50, ...(isUnseen ? { unseen: true } : {}) } })
  return (
    <Page
      title="Notifications"
      actions={
        <ButtonLink to="/notifications/settings" variant="default" leftSection={<IconSettings size={16} />}>
          Channels and choices
        </ButtonLink>
      }
    >
      <Section
        isFlush
        actions={
          <>
            <Switch
              size="xs"
              label="Only unseen"
              checked={isUnseen}
              onChange={(event) => setUnseen(event.currentTarget.checked)}
            />
            <MarkAllSeen deliveries={list.data ?? []} />
          </>
        }
      >
        <Loaded query={list}>
          {(rows) =>
            rows.length === 0 ? (
              <EmptyState icon={IconBellCheck} title="Nothing to tell">
                Failed deployments, missed backups and the like show here as they happen.
              </EmptyState>
            ) : (
              <Feed deliveries={rows} />
            )
          }
        </Loaded>
        <MoreButton list={list} />
      </Section>
    </Page>
  )
}
