import { contract, type Delivery } from '@berth/contract'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { ActionButton } from '../../components/action-button.tsx'
import { call } from '../../data/client.ts'
import { showError } from '../../data/notices.tsx'
import { refresh } from '../../data/refresh.ts'

/** Marks the deliveries one after another, since the API has no bulk call. */
export function MarkAllSeen({ deliveries }: { deliveries: readonly Delivery[] }) {
  const unseen = deliveries.filter(({ seenAt }) => seenAt === null)
  const queries = useQueryClient()
  const mark = useMutation({
    mutationFn: async () => {
      for (const { id } of unseen) await call(contract.notifications.markSeen, { params: { id } })
    },
    onError: showError,
    onSettled: () => refresh(queries, contract.notifications.listDeliveries),
  })
  return (
    <ActionButton
      size="xs"
      variant="default"
      loading={mark.isPending}
      refusal={unseen.length === 0 ? 'There are no unseen notifications.' : undefined}
      onClick={() => mark.mutate()}
    >
      Mark all as seen
    </ActionButton>
  )
}
