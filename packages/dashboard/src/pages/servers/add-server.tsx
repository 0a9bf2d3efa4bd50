import { contract } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { Group, Stack } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { AddSection } from '../../components/add-section.tsx'
import { ErrorState } from '../../components/error-state.tsx'
import { NamedFields } from '../../components/named-fields.tsx'
import { submitting } from '../../components/submitting.ts'
import { useChange } from '../../data/change.ts'
import { useRefusal } from '../../data/refusal.ts'
import { serverBody, serverFields } from '../../rules/server-form.ts'

export function AddServer({ isFirst }: { isFirst: boolean }) {
  const navigate = useNavigate()
  const [values, setValues] = useState<Record<string, string>>({})
  const refusal = useRefusal('server:write')
  const create = useChange(contract.servers.create, { refreshes: [contract.servers.list], hidesErrorNotice: true })
  const { error } = create
  const add = () =>
    create.mutate(
      { body: serverBody(values) },
      { onSuccess: ({ data }) => void navigate({ to: '/servers/$id', params: { id: data.id } }) },
    )
  return (
    <AddSection
      isFirst={isFirst}
      refusal={refusal}
      title="Add a server"
      description="The key or password is stored encrypted and never shown again. The host key is pinned at the first connection."
    >
      <form onSubmit={submitting(add)}>
        <Stack>
          <NamedFields
            fields={serverFields}
            values={values}
            onChange={setValues}
            fieldError={error instanceof ApiError ? { field: error.field, message: error.message } : undefined}
          />
          {error && <ErrorState error={error} />}
          <Group justify="flex-end">
            <ActionButton type="submit" refusal={refusal} loading={create.isPending}>
              Add
            </ActionButton>
          </Group>
        </Stack>
      </form>
    </AddSection>
  )
}
