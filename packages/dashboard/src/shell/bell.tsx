import { contract, type Delivery } from '@berth/contract'
import { ActionIcon, Indicator } from '@mantine/core'
import { IconBell } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { show } from '../data/notices.tsx'
import { refresh } from '../data/refresh.ts'
import { useStream } from '../data/stream.ts'
import { plural } from '../text/sizes.ts'

const isFailure = ({ category }: Delivery) => /(failed|missed|unproven|unhealthy|unreachable|disconnected)$/.test(category)

/** The number of unseen notifications, updated live over a stream that every tab opens. */
export function Bell() {
  const [count, setCount] = useState(0)
  const queries = useQueryClient()
  const navigate = useNavigate()
  useStream(
    contract.notifications.streamDeliveries,
    {},
    {
      pausesWhenHidden: true,
      onEvent({ event, data }) {
        if (event === 'snapshot') return setCount(data.count)
        void refresh(queries, contract.notifications.listDeliveries)
        if (event === 'seen') return setCount(data.count)
        setCount((previous) => previous + 1)
        show({ title: data.subject, message: data.text, tone: isFailure(data) ? 'bad' : 'plain', durationMs: 8000 })
      },
    },
  )
  const label = count === 0 ? 'Notifications' : `Notifications, ${plural(count, 'unseen notification')}`
  return (
    <Indicator label={count > 99 ? '99+' : count} size={16} disabled={count === 0} offset={5} color="red.8">
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        component="a"
        href="/notifications"
        aria-label={label}
        onClick={(event) => {
          event.preventDefault()
          void navigate({ to: '/notifications' })
        }}
      >
        <IconBell size={20} stroke={1.7} />
      </ActionIcon>
    </Indicator>
  )
}
