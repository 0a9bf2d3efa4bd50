import { contract } from '@berth/contract'
import { Alert, Progress, Text } from '@mantine/core'
import { ActionButton } from '../../components/action-button.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { sizeText } from '../../text/sizes.ts'
import { canBeCancelled, isSending, transferPercent, transferText } from '../../text/transfer-text.ts'

interface Props {
  projectId: string
  /** True while a transfer that was started on this page is running. */
  isMoving: boolean
  /** Why the user may not cancel it. */
  refusal: string | undefined
}

/** Progress of the newest transfer of a project. A finished one is shown only if it failed or has warnings. */
export function TransferProgress({ projectId, isMoving, refusal }: Props) {
  const { data: transfer } = useRead(
    contract.cloud.transfer,
    { params: { id: projectId } },
    { refetchIntervalMs: (last) => (isMoving || (last && last.finishedAt === null) ? 1000 : false) },
  )
  const cancel = useChange(contract.transfers.callOff, {
    refreshes: [contract.cloud.transfer],
    successMessage: 'Rolling back. The project stays at its source.',
  })
  if (!transfer) return isMoving ? <Bar value={0} text="Contacting the target…" /> : null
  const { phase, finishedAt, bytesDone, bytesTotal, warnings, error } = transfer
  if (finishedAt === null || isMoving) {
    const bytes = isSending(phase) && bytesTotal ? `, ${sizeText(bytesDone)} of ${sizeText(bytesTotal)}` : ''
    return (
      <>
        <Bar value={transferPercent(transfer)} text={`${transferText(phase)}${bytes}`} />
        {canBeCancelled(phase) && (
          <ActionButton
            variant="subtle"
            size="compact-sm"
            refusal={refusal}
            loading={cancel.isPending}
            onClick={() => cancel.mutate({ params: { id: transfer.id } })}
          >
            Cancel the transfer
          </ActionButton>
        )}
      </>
    )
  }
  const notes = [error?.message, ...warnings].filter(Boolean)
  if (notes.length === 0) return null
  return (
    <Alert mt="md" color={error ? 'red' : 'yellow'} title={error ? 'The last transfer failed' : 'The last transfer has warnings'}>
      {notes.join(' · ')}
    </Alert>
  )
}

const Bar = ({ value, text }: { value: number; text: string }) => (
  <>
    <Progress value={value} mt="md" aria-label={`Transfer, ${value} percent`} />
    <Text size="sm" mt={4} role="status">
      {text}. You can leave this page; the transfer continues.
    </Text>
  </>
)
