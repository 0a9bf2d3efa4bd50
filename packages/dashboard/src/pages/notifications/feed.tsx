import { contract, type Delivery } from '@berth/contract'
import { ActionIcon, Text } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import { RouterLink } from '../../components/router-link.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { kindText } from '../../text/channel-text.ts'
import classes from './feed.module.css'

/** A link to the project, or to the list of servers: a notification does not contain the server's id. */
function subjectOf({ subject, projectId, category }: Delivery) {
  const to = projectId ? `/projects/${projectId}` : category === 'server.unreachable' ? '/servers' : undefined
  if (!to) return subject
  return (
    <RouterLink to={to} inherit>
      {subject}
    </RouterLink>
  )
}

export function Feed({ deliveries }: { deliveries: readonly Delivery[] }) {
  const markSeen = useChange(contract.notifications.markSeen, { refreshes: [contract.notifications.listDeliveries] })
  return (
    <ul className={classes.feed} aria-label="Notifications">
      {deliveries.map((delivery) => (
        <Entry key={delivery.id} delivery={delivery} onSeen={() => markSeen.mutate({ params: { id: delivery.id } })} />
      ))}
    </ul>
  )
}

function Entry({ delivery, onSeen }: { delivery: Delivery; onSeen(): void }) {
  const { subject, text, createdAt, seenAt, channelKind, status, lastError } = delivery
  return (
    <li data-unseen={seenAt === null || undefined}>
      <div className={classes.text}>
        <Text size="sm" fw={seenAt ? 400 : 600}>
          {subjectOf(delivery)}
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
        <ActionIcon variant="subtle" color="gray" aria-label={`Mark “${subject}” as seen`} title="Seen" onClick={onSeen}>
          <IconCheck size={16} />
        </ActionIcon>
      )}
    </li>
  )
}
