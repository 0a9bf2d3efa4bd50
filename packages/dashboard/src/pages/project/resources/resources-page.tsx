import { contract } from '@berth/contract'
import { Loaded } from '../../../components/loaded.tsx'
import { useProjectId } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'
import { ProjectPage } from '../project-page.tsx'
import { AllotmentSection } from './allotment-section.tsx'
import { SleepSection } from './sleep-section.tsx'

/** Resource limits of the running project and of its builds. */
export function ResourcesPage() {
  const id = useProjectId()
  const resources = useRead(contract.projects.getResources, { params: { id } })
  return (
    <ProjectPage title="Resources" description="Limits that are enforced, on what runs and on what builds.">
      {(project) => (
        <Loaded query={resources}>
          {({ production, build }) => (
            <>
              <AllotmentSection
                projectId={id}
                side="production"
                title="While it runs"
                description="In force with the next deployment. Who takes more memory is stopped and started again."
                allotment={production}
              />
              <AllotmentSection
                projectId={id}
                side="build"
                title="While it is built"
                description="A build that needs more fails and says so; what serves is not slowed down by it."
                allotment={build}
              />
              <SleepSection project={project} />
            </>
          )}
        </Loaded>
      )}
    </ProjectPage>
  )
}
