import { contract, type EnvVariable } from '@berth/contract'
import { Alert, Button, Code, Group, Stack, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '../../../data/change.ts'
import { formatDotenv, parseDotenv } from '../../../rules/dotenv.ts'
import { envDiff, isEmptyDiff } from '../../../rules/env-diff.ts'

interface Props {
  projectId: string
  environment: string
  stored: readonly EnvVariable[]
  onSaved(): void
}

/** Edits all variables as one text. Shows the changes before they are saved. */
export function EnvText({ projectId, environment, stored, onSaved }: Props) {
  const [text, setText] = useState(() => formatDotenv(stored))
  const { variables, problems } = parseDotenv(text)
  const diff = envDiff(stored, variables)
  const save = useChange(contract.projects.changeEnv, { refreshes: [contract.projects.listEnv], successMessage: 'Saved.' })
  const isSecret = new Map(stored.map((one) => [one.key, one.isSecret]))
  const submit = () =>
    save.mutate(
      {
        params: { id: projectId },
        body: {
          environment,
          upserts: [...diff.added, ...diff.changed].map((one) => ({ ...one, isSecret: isSecret.get(one.key) ?? true })),
          deletes: diff.removed,
        },
      },
      { onSuccess: onSaved },
    )
  return (
    <Stack px={{ base: 'md', sm: 'lg' }} pb="lg">
      <Textarea
        label="All variables"
        description="One NAME=value per line. Secrets are shown as dots: keep the dots to keep the value. New variables are secret."
        autosize
        minRows={8}
        maxRows={24}
        spellCheck={false}
        classNames={{ input: 'mono' }}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {problems.length > 0 && (
        <Alert color="yellow" title="Some lines are invalid">
          {problems.join(' · ')}
        </Alert>
      )}
      <section aria-label="Changes">
        <DiffLine word="Adds" keys={diff.added.map(({ key }) => key)} />
        <DiffLine word="Changes" keys={diff.changed.map(({ key }) => key)} />
        <DiffLine word="Removes" keys={diff.removed} />
        {isEmptyDiff(diff) && (
          <Text size="sm" c="dimmed">
            Nothing would change.
          </Text>
        )}
      </section>
      <Group justify="flex-end">
        <Button onClick={submit} loading={save.isPending} disabled={problems.length > 0 || isEmptyDiff(diff)}>
          Save these changes
        </Button>
      </Group>
    </Stack>
  )
}

function DiffLine({ word, keys }: { word: string; keys: readonly string[] }) {
  if (keys.length === 0) return null
  return (
    <Text size="sm" component="div">
      <b>{word}</b>{' '}
      {keys.map((key) => (
        <Code key={key} mr={4}>
          {key}
        </Code>
      ))}
    </Text>
  )
}
