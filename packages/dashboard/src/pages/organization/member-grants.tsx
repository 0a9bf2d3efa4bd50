import { contract } from '@berth/contract'
import { NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { Section } from '../../components/section.tsx'
import { useRead } from '../../data/read.ts'
import { GrantSection } from '../project/settings/grant-section.tsx'

const title = 'Grants on a project'

/** The grants of all projects, also shown in each project's settings. */
export function MemberGrants() {
  const [chosen, setChosen] = useState('')
  const { data: projects = [] } = useRead(contract.projects.home, {})
  if (projects.length === 0) return null
  const project = projects.find(({ id }) => id === chosen)
  const choice = (
    <NativeSelect
      size="xs"
      maw={280}
      label="Project"
      value={project?.id ?? ''}
      data={[{ value: '', label: 'Choose a project…' }, ...projects.map(({ id, name }) => ({ value: id, label: name }))]}
      onChange={(event) => setChosen(event.currentTarget.value)}
    />
  )
  if (!project) return <Section title={title} description="Choose a project to see its grants." actions={choice} />
  return <GrantSection key={project.id} project={project} title={title} actions={choice} />
}
