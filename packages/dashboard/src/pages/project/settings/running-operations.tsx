import { Alert } from '@mantine/core'
import { cancelledText, type Operations } from '../../../rules/running-operations.ts'

/** Warning that a deletion cancels running operations; nothing if there are none. */
export function RunningOperations({ operations }: { operations: Operations }) {
  const text = cancelledText(operations)
  return (
    text && (
      <Alert color="yellow" title="Another operation is running">
        {text}
      </Alert>
    )
  )
}
