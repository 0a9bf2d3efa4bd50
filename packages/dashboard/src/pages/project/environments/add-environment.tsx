import { contract } from '@berth/contract'
import { Group, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { AddSection } from '../../../components/add-section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

const types = ['preview', 'development'] as const

export function AddEnvironment({ projectId }: { projectId: string }) {
  const [name, setName] = useState('')
  const [branch, setBranch] = useState('')
  const [type, setType] = useState<(typeof types)[number]>('preview')
  const refusal = useProjectRefusal(projectId, 'write')
  const create = useChange(contract.projects.createEnvironment, {
    refreshes: [contract.projects.listEnvironments],
    successMessage: 'Created.',
  })
  const add = () =>
    create.mutate(
      { params: { id: projectId }, body: { name, type, ...(branch ? { branch } : {}) } },
      { onSuccess: () => setName('') },
    )
  return (
    <AddSection isFirst={false} refusal={refusal} title="Add an environment">
      <form onSubmit={submitting(add)}>
        <Group align="flex-end" gap="sm">
          <TextInput
            flex="2 1 10rem"
            label="Name"
            placeholder="Staging"
            required
            maxLength={80}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <NativeSelect
            flex="1 1 8rem"
            label="Type"
            value={type}
            data={[...types]}
            onChange={(event) => setType(event.currentTarget.value as (typeof types)[number])}
          />
          <TextInput
            flex="1 1 8rem"
            label="Branch"
            placeholder="the project's"
            value={branch}
            onChange={(event) => setBranch(event.currentTarget.value)}
          />
          <ActionButton type="submit" refusal={refusal} loading={create.isPending}>
            Add
          </ActionButton>
        </Group>
      </form>
    </AddSection>
  )
}
