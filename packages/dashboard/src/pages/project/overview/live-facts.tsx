import type { Deployment, Project } from '@berth/contract'
import { Code, Stack } from '@mantine/core'
import { ExternalLink } from '../../../components/external-link.tsx'
import { Facts } from '../../../components/facts.tsx'
import { RouterLink } from '../../../components/router-link.tsx'
import { Section } from '../../../components/section.tsx'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { addressesOf } from '../../../rules/find-projects.ts'
import { wasLive } from '../../../rules/was-live.ts'
import { locationText } from '../../../text/location-text.ts'
import { sizeText } from '../../../text/sizes.ts'

interface Props {
  project: Project
  deployments: readonly Deployment[]
}

/** The live deployment and its addresses. */
export function LiveFacts({ project, deployments }: Props) {
  const live = deployments.find(({ status, environment }) => status === 'live' && environment === 'production')
  const addresses = addressesOf(project)
  return (
    <Section>
      <Facts
        facts={[
          ['Status', <StatusBadge key="status" status={project.status} title={project.statusReason} />],
          [
            addresses.length > 1 ? 'Addresses' : 'Address',
            addresses.length > 0 && (
              <Stack gap={2}>
                {addresses.map((url) =>
                  wasLive(project) ? (
                    <ExternalLink key={url} url={url} />
                  ) : (
                    <span key={url}>{url.replace(/^https?:\/\//, '')}</span>
                  ),
                )}
              </Stack>
            ),
            'wide',
          ],
          [
            'Version',
            live && (
              <RouterLink to={`/projects/${project.id}/deployments/${live.id}`} size="sm">
                #{live.number}
              </RouterLink>
            ),
          ],
          [
            'Commit',
            live?.commit && (
              <>
                <Code>{live.commit.sha.slice(0, 7)}</Code> {live.commit.message?.split('\n')[0]}
              </>
            ),
          ],
          ['Live since', live?.finishedAt && <TimeAgo time={live.finishedAt} />],
          ['Size', live?.sizeBytes ? sizeText(live.sizeBytes) : null],
          [
            'Type',
            [live?.plan?.type ?? project.type, live?.plan?.framework ?? project.config.framework].filter(Boolean).join(', '),
          ],
          ['Start command', live?.plan?.startCommand && <Code key="start">{live.plan.startCommand}</Code>],
          ['Location', locationText(project)],
        ]}
      />
    </Section>
  )
}
