import { contract, type Project } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { RouterLink } from '../../../components/router-link.tsx'
import { Section } from '../../../components/section.tsx'
import { useRead } from '../../../data/read.ts'
import { MoveProject } from '../../cloud/move-project.tsx'

/** Transfers the project to the cloud, or back. */
export function MoveSection({ project }: { project: Project }) {
  const link = useRead(contract.cloud.getLink, {})
  // The cloud service itself is linked to no cloud.
  if (link.error instanceof ApiError && link.error.status === 404) return null
  return (
    <Section
      title={project.location === 'local' ? 'Transfer to the cloud' : 'Transfer from the cloud'}
      description={
        link.data?.linked === false ? (
          <>
            This instance is not linked to a cloud.{' '}
            <RouterLink to="/cloud" size="sm" underline="always">
              Link it
            </RouterLink>{' '}
            to transfer the project.
          </>
        ) : (
          'The project stays live at its source until the target is ready and verified. Its id stays the same.'
        )
      }
    >
      <MoveProject project={project} />
    </Section>
  )
}
