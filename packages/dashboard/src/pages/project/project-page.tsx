import type { Project } from '@berth/contract'
import type { ReactNode } from 'react'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { PageSkeleton } from '../../components/page-skeleton.tsx'
import { RouterLink } from '../../components/router-link.tsx'
import { useProject } from '../../data/project.ts'

interface Props {
  title: string
  description?: ReactNode
  actions?(project: Project): ReactNode
  children(project: Project): ReactNode
}

/** The frame of a project's page. Renders the content after the project is loaded. */
export function ProjectPage({ title, description, actions, children }: Props) {
  const query = useProject()
  return (
    <Loaded query={query} skeleton={<PageSkeleton />}>
      {(project) => (
        <Page
          eyebrow={
            <RouterLink to={`/projects/${project.id}`} size="sm">
              {project.name}
            </RouterLink>
          }
          title={title}
          tabTitle={`${title} · ${project.name}`}
          description={description}
          actions={actions?.(project)}
        >
          {children(project)}
        </Page>
      )}
    </Loaded>
  )
}
