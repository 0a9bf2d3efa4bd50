import type { BackupRestore } from '@berth/contract'
import { Alert, Button, Group, Stack } from '@mantine/core'
import { dataStateText } from '../../../text/restore-text.ts'
import { statusLabel } from '../../../text/status-text.ts'

interface Props {
  restore: BackupRestore
  onUndo(preRestoreRunId: string): void
  isUndoing: boolean
  onClose(): void
}

export function RestoreOutcome({ restore, onUndo, isUndoing, onClose }: Props) {
  const { status, error, dataState, preRestoreRunId, target, volumes } = restore
  const isGood = status === 'succeeded'
  const canUndo = preRestoreRunId !== null && target === 'in_place' && dataState !== 'untouched'
  return (
    <Stack>
      <Alert color={isGood ? 'teal' : 'red'} title={isGood ? 'Restored' : `The restore is ${statusLabel(status)}`}>
        {error?.message} {dataStateText[dataState]}
        {volumes.length > 0 && ` New volumes: ${volumes.map(({ name }) => name).join(', ')}.`}
      </Alert>
      <Group justify="flex-end">
        {canUndo && (
          <Button variant="default" loading={isUndoing} onClick={() => onUndo(preRestoreRunId)}>
            Undo: restore the previous data
          </Button>
        )}
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  )
}
