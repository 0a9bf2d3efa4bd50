import { contract } from '@berth/contract'
import { Alert } from '@mantine/core'
import { Loaded } from '../../../components/loaded.tsx'
import { MoreButton } from '../../../components/more-button.tsx'
import { Section } from '../../../components/section.tsx'
import { useProjectId } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'
import { useList } from '../../../data/read-list.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { ProjectPage } from '../project-page.tsx'
import { AddPolicy } from './add-policy.tsx'
import { PolicyList } from './policy-list.tsx'
import { RunTable } from './run-table.tsx'
import { StoredVolumes } from './stored-volumes.tsx'

/** Backup policies, runs and restores of the project. */
export function BackupsPage() {
  const id = useProjectId()
  const params = { projectId: id }
  // The spec shows policies and runs only to users who may write.
  const refusal = useProjectRefusal(id, 'write')
  const isEnabled = !refusal
  const policies = useRead(contract.backups.listPolicies, { params, query: {} }, { isEnabled, refetchIntervalMs: 10_000 })
  const runs = useList(contract.backups.listRuns, { params, query: { limit: 50 } }, { isEnabled, refetchIntervalMs: 5000 })
  const volumes = useList(
    contract.deployments.listVolumes,
    { params: { id }, query: {} },
    { isEnabled, refetchIntervalMs: 10_000 },
  )
  return (
    <ProjectPage title="Backups" description="Each backup is read back and compared. Test restores prove that it works.">
      {(project) =>
        refusal ? (
          <Alert color="yellow" title="You cannot see the backups">
            They contain all data of the project. To see them, you need "write" access to the project. Ask an owner or admin.
          </Alert>
        ) : (
          <>
            <Section title="Policies" isFlush>
              <Loaded query={policies}>{(rows) => <PolicyList project={project} policies={rows} />}</Loaded>
            </Section>
            <AddPolicy project={project} isFirst={policies.data?.length === 0} />
            <Section title="Runs" isFlush>
              <Loaded query={runs}>{(rows) => <RunTable project={project} runs={rows} />}</Loaded>
              <MoreButton list={runs} />
            </Section>
            {volumes.data && volumes.data.length > 0 && (
              <Section title="Volumes" description="Data of the project, and copies from restores." isFlush>
                <StoredVolumes project={project} volumes={volumes.data} />
                <MoreButton list={volumes} />
              </Section>
            )}
          </>
        )
      }
    </ProjectPage>
  )
}
