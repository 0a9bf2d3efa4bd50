import { ProjectPage } from '../project-page.tsx'
import { CloneCredentialSection } from './clone-credential-section.tsx'
import { LinkSection } from './link-section.tsx'
import { RepositorySection } from './repository-section.tsx'
import { WebhookSection } from './webhook-section.tsx'

/** The source repository and its webhook. */
export function GitPage() {
  return (
    <ProjectPage title="Git" description="Deploy the project from a git repository, and on every push to it.">
      {(project) => {
        const isLinked = project.source.kind === 'git'
        return (
          <>
            {isLinked && <RepositorySection project={project} />}
            {isLinked && <WebhookSection project={project} />}
            <LinkSection key={project.updatedAt} project={project} />
            {isLinked && <CloneCredentialSection project={project} />}
          </>
        )
      }}
    </ProjectPage>
  )
}
