import { contract, settledDeployment } from '@berth/contract'
import { Alert, Code, Stack, Text } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useMemo } from 'react'
import { ExternalLink } from '../../../components/external-link.tsx'
import { Facts } from '../../../components/facts.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { LogViewer } from '../../../components/log-viewer.tsx'
import { Page } from '../../../components/page.tsx'
import { PageSkeleton } from '../../../components/page-skeleton.tsx'
import { RouterLink } from '../../../components/router-link.tsx'
import { Section } from '../../../components/section.tsx'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { useDeploymentStream } from '../../../data/deployment-stream.ts'
import { useClock } from '../../../data/now.ts'
import { useRead } from '../../../data/read.ts'
import { plainText } from '../../../rules/ansi.ts'
import { triggerText } from '../../../rules/newest-deployments.ts'
import { aliveText } from '../../../rules/status-advice.ts'
import { numberText, plural, sizeText } from '../../../text/sizes.ts'
import { statusLabel } from '../../../text/status-text.ts'
import { clockText, durationText, elapsedMs } from '../../../text/times.ts'
import { ChangesSection } from './changes-section.tsx'
import { DeploymentActions } from './deployment-actions.tsx'
import classes from './deployment-page.module.css'
import { PlanSection } from './plan-section.tsx'
import { StepList } from './step-list.tsx'

/** A deployment, live: its steps, its log lines, and its actions. */
export function DeploymentPage() {
  const { deploymentId } = useParams({ strict: false }) as { deploymentId: string }
  const read = useRead(contract.deployments.get, { params: { id: deploymentId } })
  const live = useDeploymentStream(deploymentId)
  const { environment, projectId } = read.data ?? {}
  const liveNow = useRead(
    contract.projects.listDeployments,
    { params: { id: projectId ?? '' }, query: { status: 'live', ...(environment ? { environment } : {}) } },
    { isEnabled: projectId !== undefined },
  )
  const project = useRead(contract.projects.get, { params: { id: projectId ?? '' } }, { isEnabled: projectId !== undefined })
  const lines = useMemo(() => live.lines.map((line) => ({ ...line, origin: line.step })), [live.lines])
  // A completed stream sends no more events; a later read may show that the deployment was superseded.
  const deployment = live.state === 'ended' ? (read.data ?? live.deployment) : (live.deployment ?? read.data)
  const now = useClock(deployment !== undefined && !settledDeployment.has(deployment.status))
  return (
    <Loaded query={{ ...read, data: deployment }} skeleton={<PageSkeleton />}>
      {(one) => {
        const durationMs = elapsedMs(one.startedAt, one.finishedAt, now)
        const isRunning = !settledDeployment.has(one.status)
        return (
          <Page
            title={`Deployment #${one.number}`}
            eyebrow={
              project.data && (
                <RouterLink to={`/projects/${one.projectId}`} size="sm">
                  {project.data.name}
                </RouterLink>
              )
            }
            tabTitle={`#${one.number} ${statusLabel(one.status)}${project.data ? ` · ${project.data.name}` : ''}`}
            description={
              <>
                <StatusBadge status={one.status} />
                {durationMs !== null && (
                  <span className={classes.clock} role="timer" aria-label="Duration">
                    {isRunning ? clockText(durationMs) : durationText(durationMs)}
                  </span>
                )}
              </>
            }
            actions={<DeploymentActions deployment={one} />}
          >
            {one.error && (
              <Alert color="red" title={one.error.message} role="alert">
                {one.error.logTail.length > 0 && (
                  <Code block mt="xs" className="wrap-anywhere">
                    {one.error.logTail.map(plainText).join('\n')}
                  </Code>
                )}
                <Text size="sm" mt="xs">
                  {aliveText((liveNow.data?.length ?? 1) > 0)}
                </Text>
              </Alert>
            )}
            <Section title="Steps">
              <StepList steps={one.steps} now={now} />
            </Section>
            <Section title="Build log" isFlush>
              <LogViewer
                label="the build log"
                lines={lines}
                empty={live.state === 'ended' ? 'No output.' : 'Waiting for output…'}
                fileName={`deployment-${one.number}.log`}
              />
            </Section>
            <Section>
              <Facts
                facts={[
                  ['Address', one.url && <ExternalLink url={one.url} />, 'wide'],
                  ['Environment', one.environment],
                  ['Trigger', triggerText[one.trigger]],
                  ['Created', <TimeAgo key="created" time={one.createdAt} />],
                  ['Duration', durationMs === null ? null : durationText(durationMs)],
                  [
                    'Commit',
                    one.commit && (
                      <Stack gap={0}>
                        <span>
                          <Code>{one.commit.sha.slice(0, 7)}</Code> {one.commit.message?.split('\n')[0]}
                        </span>
                        {one.commit.author && (
                          <Text size="xs" c="dimmed">
                            {one.commit.author}
                          </Text>
                        )}
                      </Stack>
                    ),
                  ],
                  ['Size', one.sizeBytes ? sizeText(one.sizeBytes) : null],
                  [
                    'Dropped requests',
                    one.requestsDuringSwitch &&
                      (one.requestsDuringSwitch.total === 0
                        ? 'none: no requests during the switch'
                        : `${numberText(one.requestsDuringSwitch.failed)} of ${plural(one.requestsDuringSwitch.total, 'request')}`),
                  ],
                ]}
              />
            </Section>
            <ChangesSection deployment={one} />
            <PlanSection deployment={one} />
          </Page>
        )
      }}
    </Loaded>
  )
}
