import { contract } from '@berth/contract'
import { ActionIcon, Alert, Group, NativeSelect, TextInput } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { IconLayoutGrid, IconList, IconPlus, IconSearch } from '@tabler/icons-react'
import { useMemo, useState } from 'react'
import { ErrorState } from '../../components/error-state.tsx'
import { Page } from '../../components/page.tsx'
import { RefusableLink } from '../../components/refusable-link.tsx'
import { SkeletonRows } from '../../components/skeleton-rows.tsx'
import { useRead, useReply } from '../../data/read.ts'
import { useRefusal } from '../../data/refusal.ts'
import { hasDeployed, hasWorkingDomain } from '../../rules/checklist.ts'
import { countStatuses, findProjects } from '../../rules/find-projects.ts'
import { newestOfEach } from '../../rules/newest-deployments.ts'
import { plural } from '../../text/sizes.ts'
import { statusLabel } from '../../text/status-text.ts'
import { NoProjects } from './no-projects.tsx'
import { ProjectList } from './project-list.tsx'
import { VersionNotice } from './version-notice.tsx'
import { WelcomeChecklist } from './welcome-checklist.tsx'

/** Projects of this instance and of the linked cloud. */
export function ProjectsPage() {
  // A long list is polled less often, so that scrolling stays smooth.
  const home = useReply(
    contract.projects.home,
    {},
    { refetchIntervalMs: (reply) => (reply && reply.data.length > 200 ? 20_000 : 5000) },
  )
  const deployments = useRead(contract.deployments.list, { query: { limit: 200 } }, { refetchIntervalMs: 10_000 })
  const refusal = useRefusal('project:write')
  const [search, setSearch] = useState('')
  const [view, setView] = useLocalStorage<'cards' | 'rows'>({ key: 'berth.projects', defaultValue: 'cards' })
  const projects = home.data?.data
  const [status, setStatus] = useState('')
  const shown = useMemo(
    () => findProjects(projects ?? [], search).filter((project) => !status || project.status === status),
    [projects, search, status],
  )
  const statuses = useMemo(() => countStatuses(projects ?? []), [projects])
  const newest = useMemo(() => newestOfEach(deployments.data ?? []), [deployments.data])
  const isEmpty = projects?.length === 0
  return (
    <Page
      title="Projects"
      actions={
        <RefusableLink to="/new" refusal={refusal} leftSection={<IconPlus size={16} />}>
          New project
        </RefusableLink>
      }
    >
      <VersionNotice />
      {home.data?.cloud.linked && !home.data.cloud.reachable && (
        <Alert color="yellow" title="The cloud is unreachable">
          Its projects are missing from this list until it is reachable.
        </Alert>
      )}
      {projects && !isEmpty && (
        <Group gap="xs">
          <TextInput
            flex="1 1 12rem"
            aria-label="Search projects"
            placeholder={`Search ${plural(projects.length, 'project')}`}
            leftSection={<IconSearch size={16} />}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
          {(statuses.length > 1 || status) && (
            <NativeSelect
              flex="0 1 11rem"
              aria-label="Status"
              value={status}
              data={[
                { value: '', label: 'All statuses' },
                ...statuses.map(([value, count]) => ({ value, label: `${statusLabel(value)} (${count})` })),
              ]}
              onChange={(event) => setStatus(event.currentTarget.value)}
            />
          )}
          <ActionIcon
            variant="default"
            size={36}
            onClick={() => setView(view === 'cards' ? 'rows' : 'cards')}
            aria-label={view === 'cards' ? 'Show as rows' : 'Show as cards'}
          >
            {view === 'cards' ? <IconList size={18} /> : <IconLayoutGrid size={18} />}
          </ActionIcon>
        </Group>
      )}
      {!projects &&
        (home.error ? (
          <ErrorState error={home.error} onRetry={() => void home.refetch()} />
        ) : (
          <SkeletonRows rows={3} height={120} />
        ))}
      {projects && (
        <WelcomeChecklist
          projectId={(projects.find(({ status }) => status === 'live') ?? projects[0])?.id}
          hasProject={hasDeployed(projects, deployments.data ?? [])}
          hasDomain={projects.some(hasWorkingDomain)}
        />
      )}
      {isEmpty && <NoProjects />}
      {projects && !isEmpty && <ProjectList projects={shown} newest={newest} view={view} search={search} />}
    </Page>
  )
}
