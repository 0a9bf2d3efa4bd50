import { contract } from '@berth/contract'
import { NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { useRead } from '../../data/read.ts'
import { GrantSection } from '../project/settings/grant-section.tsx'

/** The grants of all projects, also shown in each project's settings. */
export function MemberGrants() {
  const [chosen, setChosen] = useState('')
  const { data: projects = [] } = useRead(contract.projects.home, {})
  const project = projects.find(({ id }) => id === chosen) ?? projects[0]
  if (!project) return null
  return (
    <GrantSection
      key={project.id}
      project={project}
      title="Grants on a project"
      actions={
        <NativeSelect
          size="xs"
          maw={280}
          aria-label="Project"
          value={project.id}
          data={projects.map(({ id, name }) => ({ value: id, label: name }))}
          onChange={(event) => setChosen(event.currentTarget.value)}
        />
      }
    />
  )
}
