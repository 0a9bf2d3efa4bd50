import { contract } from '@berth/contract'
import { Group, Switch, TextInput } from '@mantine/core'
import { type ClipboardEvent, useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { AddSection } from '../../../components/add-section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { parseDotenv } from '../../../rules/dotenv.ts'

interface Props {
  projectId: string
  environment: string
  /** True if there is no variable yet: the form is then open. */
  isFirst: boolean
  refusal: string | undefined
  onSaved(): void
}

/** Adds a variable; several lines pasted into the name add several. */
export function AddVariable({ projectId, environment, isFirst, refusal, onSaved }: Props) {
  const [key, setKey] = useState('')
  const [value, setValue] = useState('')
  const [isSecret, setSecret] = useState(true)
  const save = useChange(contract.projects.changeEnv, { refreshes: [contract.projects.listEnv], successMessage: 'Saved.' })
  const saveAll = (variables: readonly { key: string; value: string }[]) =>
    save.mutate(
      { params: { id: projectId }, body: { environment, upserts: variables.map((one) => ({ ...one, isSecret })) } },
      {
        onSuccess: () => {
          setKey('')
          setValue('')
          onSaved()
        },
      },
    )
  const paste = (event: ClipboardEvent) => {
    const { variables } = parseDotenv(event.clipboardData.getData('text'))
    if (variables.length < 2 || refusal) return
    event.preventDefault()
    saveAll(variables)
  }
  return (
    <AddSection
      isFirst={isFirst}
      refusal={refusal}
      title="Add a variable"
      description="Paste several lines of a .env file into the name to add them all."
    >
      <form onSubmit={submitting(() => saveAll([{ key, value }]))}>
        <Group align="flex-end" gap="sm">
          <TextInput
            flex="1 1 11rem"
            label="Name"
            required
            pattern="[A-Za-z_][A-Za-z0-9_]*"
            title="Use letters, digits and underscores. The first character must not be a digit."
            classNames={{ input: 'mono' }}
            autoComplete="off"
            spellCheck={false}
            value={key}
            onPaste={paste}
            onChange={(event) => setKey(event.currentTarget.value)}
          />
          <TextInput
            flex="2 1 14rem"
            label="Value"
            classNames={{ input: 'mono' }}
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
          <Switch
            display="flex"
            mih={36}
            style={{ alignItems: 'center' }}
            label="Secret"
            checked={isSecret}
            onChange={(event) => setSecret(event.currentTarget.checked)}
          />
          <ActionButton type="submit" refusal={refusal} loading={save.isPending}>
            Add
          </ActionButton>
        </Group>
      </form>
    </AddSection>
  )
}
