import { contract } from '@berth/contract'
import { Button, NativeSelect, SegmentedControl } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react'
import { useMemo, useState } from 'react'
import { ErrorState } from '../../../components/error-state.tsx'
import { LogViewer } from '../../../components/log-viewer.tsx'
import { Section } from '../../../components/section.tsx'
import { useProjectId } from '../../../data/project.ts'
import { useProjectLogs } from '../../../data/project-logs.ts'
import { useRead } from '../../../data/read.ts'
import { ProjectPage } from '../project-page.tsx'
import { LogSearch } from './log-search.tsx'

/** The project's output, live; lines are kept after their deployment was removed. */
export function LogsPage() {
  const id = useProjectId()
  const [service, setService] = useState('')
  const [deployment, setDeployment] = useState('')
  const [mode, setMode] = useState<'live' | 'search'>('live')
  const [isPaused, setPaused] = useState(false)
  const filter = { ...(service ? { service } : {}), ...(deployment ? { deployment } : {}) }
  const logs = useProjectLogs(id, filter, isPaused || mode === 'search')
  const deployments = useRead(contract.projects.listDeployments, { params: { id }, query: { limit: 30 } })
  const lines = useMemo(
    () => logs.lines.map((line, at) => ({ ...line, id: line.id ?? `${line.time} ${at}`, origin: line.service })),
    [logs.lines],
  )
  return (
    <ProjectPage title="Logs" description="Output of the running project, kept across versions.">
      {(project) => (
        <>
          <SegmentedControl
            size="xs"
            w="fit-content"
            aria-label="Mode"
            data={[
              { value: 'live', label: 'Live' },
              { value: 'search', label: 'Search a time range' },
            ]}
            value={mode}
            onChange={(value) => setMode(value as typeof mode)}
          />
          {mode === 'search' && <LogSearch projectId={id} slug={project.slug} service={service} />}
          {logs.error && <ErrorState error={logs.error} onRetry={() => void logs.refetch()} />}
          {mode === 'live' && (
            <Section isFlush actions={null} title="Lines">
              <LogViewer
                label="the log"
                lines={lines}
                height="34rem"
                empty={logs.isReady ? 'No logs yet. New lines appear here.' : 'Loading logs…'}
                fileName={`${project.slug}.log`}
                tools={
                  <>
                    {project.config.services.length > 0 && (
                      <NativeSelect
                        size="xs"
                        aria-label="Service"
                        value={service}
                        data={[{ value: '', label: 'The exposed service' }, ...project.config.services.map(({ name }) => name)]}
                        onChange={(event) => setService(event.currentTarget.value)}
                      />
                    )}
                    <NativeSelect
                      size="xs"
                      aria-label="Version"
                      value={deployment}
                      data={[
                        { value: '', label: 'Every version' },
                        ...(deployments.data ?? []).map((one) => ({ value: one.id, label: `#${one.number} ${one.status}` })),
                      ]}
                      onChange={(event) => setDeployment(event.currentTarget.value)}
                    />
                    <Button
                      size="xs"
                      variant="default"
                      onClick={() => setPaused(!isPaused)}
                      leftSection={isPaused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
                    >
                      {isPaused ? 'Resume' : 'Pause'}
                    </Button>
                  </>
                }
              />
            </Section>
          )}
        </>
      )}
    </ProjectPage>
  )
}
