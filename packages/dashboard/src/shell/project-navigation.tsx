import { contract } from '@berth/contract'
import { IconArrowLeft } from '@tabler/icons-react'
import { useRead } from '../data/read.ts'
import { projectLinks } from './links.ts'
import classes from './navigation.module.css'
import { NavigationLink } from './navigation-link.tsx'
import { ProjectSwitcher } from './project-switcher.tsx'

export function ProjectNavigation({ projectId }: { projectId: string }) {
  const project = useRead(contract.projects.get, { params: { id: projectId } })
  return (
    <>
      <div className={classes.group}>
        <NavigationLink to="/" label="All projects" icon={IconArrowLeft} isExact />
      </div>
      <div className={classes.group}>
        <ProjectSwitcher projectId={projectId} name={project.data?.name} />
        {projectLinks(projectId).map((link) => (
          <NavigationLink key={link.to} {...link} />
        ))}
      </div>
    </>
  )
}
