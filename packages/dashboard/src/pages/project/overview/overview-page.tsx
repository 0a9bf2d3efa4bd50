import { contract } from '@berth/contract'
import { Alert, Stack } from '@mantine/core'
import { Loaded } from '../../../components/loaded.tsx'
import { Page } from '../../../components/page.tsx'
import { PageSkeleton } from '../../../components/page-skeleton.tsx'
import { RouterLink } from '../../../components/router-link.tsx'
import { Section } from '../../../components/section.tsx'
import { SkeletonRows } from '../../../components/skeleton-rows.tsx'
import { useProject, useProjectId } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'
import { sourceText } from '../../../rules/find-projects.ts'
import { statusAdvice } from '../../../rules/status-advice.ts'
import { DeployButton } from '../deploy-button.tsx'
import { DeploymentTable } from '../deployments/deployment-table.tsx'
import { LiveFacts } from './live-facts.tsx'
import { MetricsSection } from './metrics-section.tsx'
import { PendingChanges } from './pending-changes.tsx'
import { ServicesSection } from './services-section.tsx'
import { SwitchReport } from './switch-report.tsx'

export function OverviewPage() {
  const id = useProjectId()
  const query = useProject()
  const deployments = useRead(
    contract.projects.listDeployments,
    { params: { id }, query: { limit: 20 } },
    { refetchIntervalMs: 5000 },
  )
  return (
    <Loaded query={query} skeleton={<PageSkeleton />}>
      {(project) => {
        const advice = statusAdvice(project, {
          hasLiveVersion: deployments.data?.some(({ status }) => status === 'live') ?? true,
        })
        const failed =
          advice?.hasFailedDeployment &&
          deployments.data?.find(({ status, environment }) => status === 'failed' && environment === 'production')
        return (
          <Page title={project.name} description={sourceText(project)} actions={<DeployButton project={project} />}>
            {advice && (
              <Alert color={advice.isBad ? 'red' : 'harbour'} title={advice.title}>
                {advice.text}{' '}
                {failed && (
                  <RouterLink to={`/projects/${id}/deployments/${failed.id}`} inherit underline="always">
                    See the failed step of #{failed.number} and its log
                  </RouterLink>
                )}
              </Alert>
            )}
            <PendingChanges project={project} />
            <Loaded query={deployments} skeleton={<SkeletonRows rows={1} height={96} />}>
              {(rows) => <LiveFacts project={project} deployments={rows} />}
            </Loaded>
            {project.services && <ServicesSection services={project.services} />}
            <MetricsSection projectId={id} />
            <Stack gap="lg">
              <Section
                title="Latest deployments"
                isFlush
                actions={
                  <RouterLink to={`/projects/${id}/deployments`} size="sm">
                    All deployments
                  </RouterLink>
                }
              >
                <Loaded query={deployments}>{(rows) => <DeploymentTable deployments={rows.slice(0, 5)} />}</Loaded>
              </Section>
              <SwitchReport deployments={deployments.data ?? []} />
            </Stack>
          </Page>
        )
      }}
    </Loaded>
  )
}
