import { ApiError } from '@berth/contract/client'
import { Button, Group, Modal, Stack } from '@mantine/core'
import { useState } from 'react'
import { asOptional, changedFields } from '../rules/changed-fields.ts'
import type { FormField } from '../rules/form-field.ts'
import { ErrorState } from './error-state.tsx'
import { NamedFields } from './named-fields.tsx'
import { submitting } from './submitting.ts'

interface Props {
  title: string
  fields: readonly FormField[]
  stored: Readonly<Record<string, string>>
  isPending: boolean
  error: unknown
  /** Receives only the changed fields. */
  onSave(changed: Record<string, string>): void
  onClose(): void
}

/** Edits an existing object with the same fields that it was created with. */
export function FieldsDialog({ title, fields, stored, isPending, error, onSave, onClose }: Props) {
  const [values, setValues] = useState<Record<string, string>>(stored)
  const changed = changedFields(stored, values)
  const fieldError = error instanceof ApiError ? { field: error.field, message: error.message } : undefined
  return (
    <Modal
      opened
      size="lg"
      onClose={onClose}
      title={title}
      closeButtonProps={{ 'aria-label': 'Close' }}
      closeOnClickOutside={false}
    >
      <form onSubmit={submitting(() => onSave(changed))}>
        <Stack>
          <NamedFields fields={asOptional(fields)} values={values} onChange={setValues} fieldError={fieldError} />
          {error !== null && error !== undefined && <ErrorState error={error} />}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isPending} disabled={Object.keys(changed).length === 0}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
