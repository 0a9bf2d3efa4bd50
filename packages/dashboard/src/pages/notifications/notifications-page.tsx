import { contract } from '@berth/contract'
import { Group, Switch } from '@mantine/core'
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

/** The in-app feed, newest first, updated live; the switch also lists deliveries to other channels. */
export function NotificationsPage() {
  const [isUnseen, setUnseen] = useState(false)
  const [isAll, setAll] = useState(false)
  const list = useList(contract.notifications.listDeliveries, {
    query: { limit: 50, ...(isUnseen ? { unseen: true } : {}), ...(isAll ? { kind: 'all' } : {}) },
  })
  return (
    <Page
      title="Notifications"
      actions={
        <ButtonLink to="/notifications/settings" variant="default" leftSection={<IconSettings size={16} />}>
          Notification settings
        </ButtonLink>
      }
    >
      <Section
        isFlush
        actions={
          <Group gap="lg">
            <Switch size="xs" label="All channels" checked={isAll} onChange={(event) => setAll(event.currentTarget.checked)} />
            <Switch
              size="xs"
              label="Only unseen"
              checked={isUnseen}
              onChange={(event) => setUnseen(event.currentTarget.checked)}
            />
            <MarkAllSeen deliveries={list.data ?? []} />
          </Group>
        }
      >
        <Loaded query={list}>
          {(rows) =>
            rows.length === 0 ? (
              <EmptyState icon={IconBellCheck} title="No notifications">
                Failed deployments, missed backups and other events appear here.
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
