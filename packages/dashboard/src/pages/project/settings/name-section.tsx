import { contract, type Project } from '@berth/contract'
import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal } from '../../../data/may.ts'
import { projectReads } from '../../../data/project.ts'

export function NameSection({ project }: { project: Project }) {
  const [name, setName] = useState(project.name)
  const refusal = useProjectRefusal(project.id, 'write')
  const save = useChange(contract.projects.update, { refreshes: projectReads, says: 'Renamed.' })
  return (
    <form onSubmit={submitting(() => save.mutate({ params: { id: project.id }, body: { name } }))}>
      <Section
        title="Name"
        footer={
          <>
            <Text size="sm" c="dimmed">
              The address stays as it is: it comes from <b>{project.slug}</b>.
            </Text>
            <ActionButton size="xs" type="submit" refusal={refusal} loading={save.isPending}>
              Save
            </ActionButton>
          </>
        }
      >
        <TextInput
          aria-label="Name"
          required
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
      </Section>
    </form>
  )
}
