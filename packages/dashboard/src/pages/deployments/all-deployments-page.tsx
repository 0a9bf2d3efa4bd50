import { contract, type DeploymentStatus, deploymentStatuses } from '@berth/contract'
import { NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { Loaded } from '../../components/loaded.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Page } from '../../components/page.tsx'
import { Section } from '../../components/section.tsx'
import { useRead } from '../../data/read.ts'
import { useList } from '../../data/read-list.ts'
import { DeploymentTable } from '../project/deployments/deployment-table.tsx'

/** All deployments of the organisation. */
export function AllDeploymentsPage() {
  const [status, setStatus] = useState<DeploymentStatus | ''>('')
  const list = useList(
    contract.deployments.list,
    { query: { limit: 50, ...(status ? { status } : {}) } },
    { refetchIntervalMs: 5000 },
  )
  const projects = useRead(contract.projects.home, {})
  const names = new Map((projects.data ?? []).map(({ id, name }) => [id, name]))
  const nameOf = (id: string) => names.get(id) ?? (projects.data ? 'Deleted project' : '…')
  return (
    <Page title="Deployments" description="All projects, newest first.">
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
        <Loaded query={list}>{(rows) => <DeploymentTable deployments={rows} nameOf={nameOf} isFiltered={!!status} />}</Loaded>
        <MoreButton list={list} />
      </Section>
    </Page>
  )
}
