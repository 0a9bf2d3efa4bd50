import { contract, type DeploymentStatus, deploymentStatuses } from '@berth/contract'
import { NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { Loaded } from '../../../components/loaded.tsx'
import { MoreButton } from '../../../components/more-button.tsx'
import { Section } from '../../../components/section.tsx'
import { useProjectId } from '../../../data/project.ts'
import { useList } from '../../../data/read-list.ts'
import { DeployButton } from '../deploy-button.tsx'
import { ProjectPage } from '../project-page.tsx'
import { DeploymentTable } from './deployment-table.tsx'

export function DeploymentsPage() {
  const id = useProjectId()
  const [status, setStatus] = useState<DeploymentStatus | ''>('')
  const list = useList(
    contract.projects.listDeployments,
    { params: { id }, query: { limit: 50, ...(status ? { status } : {}) } },
    { refetchIntervalMs: 5000 },
  )
  return (
    <ProjectPage
      title="Deployments"
      description="All versions with their status. Roll back to an earlier one."
      actions={(project) => <DeployButton project={project} />}
    >
      {() => (
        <Section
          isFlush
          actions={
            <NativeSelect
              size="xs"
              aria-label="Status"
              value={status}
              data={[{ value: '', label: 'Any status' }, ...deploymentStatuses]}
              onChange={(event) => setStatus(event.currentTarget.value as DeploymentStatus | '')}
            />
          }
        >
          <Loaded query={list}>{(rows) => <DeploymentTable deployments={rows} isFiltered={!!status} />}</Loaded>
          <MoreButton list={list} />
        </Section>
      )}
    </ProjectPage>
  )
}
