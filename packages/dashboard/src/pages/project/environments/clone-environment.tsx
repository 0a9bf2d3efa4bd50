import { contract, type Environment } from '@berth/contract'
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'

interface Props {
  projectId: string
  environment: Environment
  onClose(): void
}

/** Creates an environment with the variables, secrets included, and the branch of another one. */
export function CloneEnvironment({ projectId, environment, onClose }: Props) {
  const [name, setName] = useState(`${environment.name} copy`)
  const create = useChange(contract.projects.createEnvironment, {
    refreshes: [contract.projects.listEnvironments],
    successMessage: ({ data }) => `${data.name} is created. Deploy it to start it.`,
    hidesErrorNotice: true,
  })
  const type = environment.type === 'development' ? 'development' : 'preview'
  const clone = () =>
    create.mutate({ params: { id: projectId }, body: { name, type, cloneFrom: environment.slug } }, { onSuccess: onClose })
  return (
    <Modal opened onClose={onClose} title={`Clone ${environment.name}`} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submitting(clone)}>
        <Stack>
          <TextInput
            label="Name"
            required
            maxLength={80}
            data-autofocus
            value={name}
            error={create.error?.message}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Text size="sm" c="dimmed">
            Copies the branch and all variables, secrets included. Volumes, their data and domains are not copied.
          </Text>
          <Group justify="flex-end">
            <Button type="submit" loading={create.isPending}>
              Clone
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
