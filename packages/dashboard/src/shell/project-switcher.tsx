import { contract } from '@berth/contract'
import { NativeSelect } from '@mantine/core'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useRead } from '../data/read.ts'
import { switchedPath } from '../rules/switched-path.ts'
import classes from './navigation.module.css'

interface Props {
  projectId: string
  name: string | undefined
}

/** The current project; choosing another one opens the same page of it. */
export function ProjectSwitcher({ projectId, name }: Props) {
  const navigate = useNavigate()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const { data: projects = [] } = useRead(contract.projects.home, {})
  const others = projects.filter(({ id }) => id !== projectId)
  return (
    <NativeSelect
      className={classes.switcher}
      aria-label="Project"
      value={projectId}
      data={[
        { value: projectId, label: name ?? 'Project' },
        ...others.map((one) => ({ value: one.id, label: one.name })).sort((a, b) => a.label.localeCompare(b.label)),
      ]}
      onChange={(event) => void navigate({ to: switchedPath(path, event.currentTarget.value) })}
    />
  )
}
