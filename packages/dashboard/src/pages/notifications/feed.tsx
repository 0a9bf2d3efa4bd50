import { contract, type Delivery } from '@berth/contract'
import { ActionIcon, Text } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import { RouterLink } from '../../components/router-link.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { kindText } from '../../text/channel-text.ts'
import classes from './feed.module.css'

export function Feed({ deliveries }: { deliveries: readonly Delivery[] }) {
  const markSeen = useChange(contract.notifications.markSeen, { refreshes: [contract.notifications.listDeliveries] })
  return (
    <ul className={classes.feed} aria-label="Notifications">
      {deliveries.map(({ id, subject, text, projectId, createdAt, seenAt, channelKind, status, lastError }) => (
        <li key={id} data-unseen={seenAt === null || undefined}>
          <div className={classes.text}>
            <Text size="sm" fw={seenAt ? 400 : 600}>
              {projectId ? (
                <RouterLink to={`/projects/${projectId}`} inherit>
                  {subject}
                </RouterLink>
              ) : (
                subject
              )}
            </Text>
            <Text size="sm" className={classes.text}>
              {text}
            </Text>
            <Text size="xs" c="dimmed">
              <TimeAgo time={createdAt} /> · {kindText[channelKind]}
              {status !== 'sent' && ` · ${status}`}
              {lastError && `: ${lastError}`}
            </Text>
          </div>
          {seenAt === null && (
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Mark “${subject}” as seen`}
              title="Seen"
              onClick={() => markSeen.mutate({ params: { id } })}
            >
              <IconCheck size={16} />
            </ActionIcon>
          )}
        </li>
      ))}
    </ul>
  )
}
