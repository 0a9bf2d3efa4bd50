import { contract, type Environment, type Project } from '@berth/contract'
import { Group, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { ExternalLink } from '../../../components/external-link.tsx'
import { RowButton } from '../../../components/row-button.tsx'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { useChange } from '../../../data/change.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { environmentRemovalRefusal } from '../../../rules/environment-actions.ts'
import { deployRefusal } from '../../../rules/project-actions.ts'
import { wasEnvironmentLive } from '../../../rules/was-live.ts'
import { CloneEnvironment } from './clone-environment.tsx'
import { RemoveEnvironment } from './remove-environment.tsx'

interface Props {
  project: Project
  environments: readonly Environment[]
}

export function EnvironmentTable({ project, environments }: Props) {
  const { id } = project
  const navigate = useNavigate()
  const [confirming, setConfirming] = useState<Environment>()
  const [cloned, setCloned] = useState<Environment>()
  const writeRefusal = useProjectRefusal(id, 'write')
  const adminRefusal = useProjectRefusal(id, 'admin')
  const live = useRead(contract.projects.listDeployments, { params: { id }, query: { status: 'live', limit: 200 } })
  const deploy = useChange(contract.deployments.build, { refreshes: [contract.projects.listDeployments] })
  const start = (environment: string) =>
    deploy.mutate(
      { body: { projectId: id, environment } },
      {
        onSuccess: ({ data }) =>
          navigate({ to: '/projects/$id/deployments/$deploymentId', params: { id, deploymentId: data.deploymentId } }),
      },
    )
  const columns: Column<Environment>[] = [
    {
      title: 'Environment',
      isHeading: true,
      cell: ({ name, slug, type, pullRequest, deletingSince }) => (
        <div>
          <Text size="sm" fw={500}>
            {name}
          </Text>
          <Text size="xs" c="dimmed">
            {deletingSince
              ? 'being removed'
              : pullRequest === null
                ? type === slug
                  ? null
                  : type
                : `of pull request ${pullRequest}`}
          </Text>
        </div>
      ),
    },
    { title: 'Branch', isWide: true, cell: ({ branch }) => branch && <span className="wrap-anywhere">{branch}</span> },
    {
      title: 'Address',
      cell: ({ url, slug }) => {
        if (!url) return '–'
        return wasEnvironmentLive(slug, live.data ?? []) ? <ExternalLink url={url} /> : url.replace(/^https?:\/\//, '')
      },
    },
    { title: 'Created', isWide: true, cell: ({ createdAt }) => <TimeAgo time={createdAt} /> },
    {
      title: '',
      alignRight: true,
      cell: (one) => (
        <Group gap={4} justify="flex-end">
          <RowButton
            refusal={writeRefusal ?? deployRefusal(project)}
            aria-label={`Deploy ${one.name}`}
            onClick={() => start(one.slug)}
          >
            Deploy
          </RowButton>
          <RowButton refusal={writeRefusal} aria-label={`Clone ${one.name}`} onClick={() => setCloned(one)}>
            Clone
          </RowButton>
          <RowButton
            refusal={adminRefusal ?? environmentRemovalRefusal(one)}
            aria-label={`Remove ${one.name}`}
            onClick={() => setConfirming(one)}
          >
            Remove
          </RowButton>
        </Group>
      ),
    },
  ]
  return (
    <>
      <DataTable label="Environments" columns={columns} rows={environments} keyOf={(one) => one.id} />
      {cloned && <CloneEnvironment projectId={id} environment={cloned} onClose={() => setCloned(undefined)} />}
      {confirming && <RemoveEnvironment projectId={id} environment={confirming} onClose={() => setConfirming(undefined)} />}
    </>
  )
}
