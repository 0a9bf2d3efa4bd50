import { contract, type EnvVariable } from '@berth/contract'
import { Button, Group, Modal, Stack, Switch, Textarea } from '@mantine/core'
import { useState } from 'react'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { variableChange } from '../../../rules/variable-change.ts'

interface Props {
  projectId: string
  environment: string
  variable: EnvVariable
  onClose(): void
  onSaved(): void
}

export function VariableDialog({ projectId, environment, variable, onClose, onSaved }: Props) {
  const [value, setValue] = useState(variable.isSecret ? '' : variable.value)
  const [isSecret, setSecret] = useState(variable.isSecret)
  const save = useChange(contract.projects.changeEnv, { refreshes: [contract.projects.listEnv] })
  const submit = () =>
    save.mutate(
      { params: { id: projectId }, body: { environment, upserts: [variableChange(variable, value, isSecret)] } },
      { onSuccess: onSaved },
    )
  return (
    <Modal opened onClose={onClose} title={`Change ${variable.key}`} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submitting(() => submit())}>
        <Stack>
          <Textarea
            label="Value"
            description={variable.isSecret ? 'The stored value is never shown. Leave this empty to keep it.' : undefined}
            autosize
            minRows={2}
            maxRows={12}
            classNames={{ input: 'mono' }}
            spellCheck={false}
            data-autofocus
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
          <Switch label="Secret" checked={isSecret} onChange={(event) => setSecret(event.currentTarget.checked)} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
