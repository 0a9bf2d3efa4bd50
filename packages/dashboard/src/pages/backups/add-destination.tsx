import { contract, type DestinationKind } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { Group, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { AddSection } from '../../components/add-section.tsx'
import { ErrorState } from '../../components/error-state.tsx'
import { NamedFields } from '../../components/named-fields.tsx'
import { submitting } from '../../components/submitting.ts'
import { useChange } from '../../data/change.ts'
import { useOperatorRefusal, useRefusal } from '../../data/refusal.ts'
import { destinationConfig, destinationFields } from '../../rules/destination-form.ts'

const kinds = [
  { value: 's3', label: 'S3 bucket' },
  { value: 'sftp', label: 'SFTP server' },
  { value: 'local', label: 'Folder on this machine' },
]

export function AddDestination({ isFirst }: { isFirst: boolean }) {
  const [kind, setKind] = useState<DestinationKind>('s3')
  const [name, setName] = useState('')
  const [values, setValues] = useState<Record<string, string>>({})
  const refusal = useRefusal('backup_destination:write')
  const operatorRefusal = useOperatorRefusal()
  const check = useChange(contract.backups.checkDestination, { refreshes: [contract.backups.listDestinations] })
  const create = useChange(contract.backups.createDestination, {
    refreshes: [contract.backups.listDestinations],
    hidesErrorNotice: true,
    successMessage: 'Added. Checking it now.',
  })
  const add = () =>
    create.mutate(
      { body: { name, kind, config: destinationConfig(kind, values) } },
      {
        onSuccess: ({ data }) => {
          setName('')
          setValues({})
          check.mutate({ params: { id: data.id } })
        },
      },
    )
  const { error } = create
  const fieldError = error instanceof ApiError ? { field: error.field, message: error.message } : undefined
  return (
    <AddSection
      isFirst={isFirst}
      refusal={refusal}
      title="Add a destination"
      description="Berth tests it by writing, reading and deleting a small object. Secrets are never shown again."
    >
      <form onSubmit={submitting(add)}>
        <Stack>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <NativeSelect
              label="Kind"
              data={kinds}
              value={kind}
              onChange={(event) => setKind(event.currentTarget.value as DestinationKind)}
            />
            <TextInput
              label="Name"
              required
              maxLength={100}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          </SimpleGrid>
          <NamedFields fields={destinationFields[kind]} values={values} onChange={setValues} fieldError={fieldError} />
          {error && <ErrorState error={error} />}
          <Group justify="flex-end">
            <ActionButton
              type="submit"
              refusal={refusal ?? (kind === 'local' ? operatorRefusal : undefined)}
              loading={create.isPending}
            >
              Add
            </ActionButton>
          </Group>
        </Stack>
      </form>
    </AddSection>
  )
}
