import { contract } from '@berth/contract'
import { Loaded } from '../../../components/loaded.tsx'
import { Section } from '../../../components/section.tsx'
import { useProjectId } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'
import { ProjectPage } from '../project-page.tsx'
import { AddEnvironment } from './add-environment.tsx'
import { EnvironmentTable } from './environment-table.tsx'
import { PreviewSection } from './preview-section.tsx'
import { PullRequests } from './pull-requests.tsx'

/** Production, previews of pull requests, and other environments. */
export function EnvironmentsPage() {
  const id = useProjectId()
  const environments = useRead(contract.projects.listEnvironments, { params: { id }, query: {} }, { refetchIntervalMs: 5000 })
  return (
    <ProjectPage title="Environments" description="Each environment has its own variables, versions and domain.">
      {(project) => (
        <>
          <Section isFlush>
            <Loaded query={environments}>{(rows) => <EnvironmentTable project={project} environments={rows} />}</Loaded>
          </Section>
          <AddEnvironment projectId={id} />
          {project.source.kind === 'git' && (
            <>
              <PullRequests project={project} />
              <PreviewSection key={project.id} project={project} />
            </>
          )}
        </>
      )}
    </ProjectPage>
  )
}
