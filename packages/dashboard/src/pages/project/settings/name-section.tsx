import { contract, type Project } from '@berth/contract'
import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { SaveFooter } from '../../../components/save-footer.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { projectReads } from '../../../data/project.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

export function NameSection({ project }: { project: Project }) {
  const [name, setName] = useState(project.name)
  const refusal = useProjectRefusal(project.id, 'write')
  const save = useChange(contract.projects.update, { refreshes: projectReads, successMessage: 'Renamed.' })
  return (
    <form onSubmit={submitting(() => save.mutate({ params: { id: project.id }, body: { name } }))}>
      <Section
        title="Name"
        footer={
          <SaveFooter refusal={refusal} isPending={save.isPending}>
            The address does not change: it contains the slug <b>{project.slug}</b>.
          </SaveFooter>
        }
      >
        <TextInput
          aria-label="Name"
          required
          maxLength={100}
          readOnly={!!refusal}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
      </Section>
    </form>
  )
}
