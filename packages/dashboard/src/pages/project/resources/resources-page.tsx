import { contract } from '@berth/contract'
import { Loaded } from '../../../components/loaded.tsx'
import { useProjectId } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'
import { ProjectPage } from '../project-page.tsx'
import { ResourcesSection } from './resources-section.tsx'
import { SleepSection } from './sleep-section.tsx'

/** Resource limits of the running project and of its builds. */
export function ResourcesPage() {
  const id = useProjectId()
  const resources = useRead(contract.projects.getResources, { params: { id } })
  return (
    <ProjectPage title="Resources" description="CPU, memory and disk limits of the running project and its builds.">
      {(project) => (
        <Loaded query={resources}>
          {({ production, build }) => (
            <>
              <ResourcesSection
                projectId={id}
                side="production"
                title="Runtime limits"
                description="Takes effect after a restart or the next deployment. A project that exceeds its memory limit is restarted."
                resources={production}
              />
              <ResourcesSection
                projectId={id}
                side="build"
                title="Build limits"
                description="A build that exceeds a limit fails. Running projects are not slowed down."
                resources={build}
              />
              <SleepSection project={project} />
            </>
          )}
        </Loaded>
      )}
    </ProjectPage>
  )
}
