import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconDownload, IconPlayerPause, IconPlayerPlay, IconSearch } from '@tabler/icons-react'
import { useState } from 'react'
import { Loaded } from '../../../components/loaded.tsx'
import { Section } from '../../../components/section.tsx'
import { useProjectId } from '../../../data/project.ts'
import { useProjectRequests } from '../../../data/project-requests.ts'
import { downloadText } from '../../../text/download.ts'
import { ProjectPage } from '../project-page.tsx'
import { RequestTable } from './request-table.tsx'

const methods = ['', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
const statuses = [
  { value: '', label: 'Any status' },
  { value: '2xx', label: '2xx' },
  { value: '3xx', label: '3xx' },
  { value: '4xx', label: '4xx' },
  { value: '5xx', label: '5xx' },
]

/** The HTTP requests to the project, live. */
export function RequestsPage() {
  const id = useProjectId()
  const [status, setStatus] = useState('')
  const [method, setMethod] = useState('')
  const [path, setPath] = useState('')
  const [isPaused, setPaused] = useState(false)
  const [settledPath] = useDebouncedValue(path, 300)
  const filter = { ...(status ? { status } : {}), ...(method ? { method } : {}), ...(settledPath ? { path: settledPath } : {}) }
  const query = useProjectRequests(id, filter, isPaused)
  const save = () =>
    downloadText(
      'requests.jsonl',
      query.requests.map((one) => `${JSON.stringify(one)}\n`),
    )
  return (
    <ProjectPage title="Requests" description="Live requests to the project, newest first.">
      {() => (
        <Section
          isFlush
          actions={
            <>
              <TextInput
                size="xs"
                aria-label="Path"
                placeholder="Path"
                leftSection={<IconSearch size={14} />}
                value={path}
                onChange={(event) => setPath(event.currentTarget.value)}
              />
              <NativeSelect
                size="xs"
                aria-label="Method"
                value={method}
                data={methods.map((value) => ({ value, label: value || 'Any method' }))}
                onChange={(event) => setMethod(event.currentTarget.value)}
              />
              <NativeSelect
                size="xs"
                aria-label="Status"
                value={status}
                data={statuses}
                onChange={(event) => setStatus(event.currentTarget.value)}
              />
              <Button
                size="xs"
                variant="default"
                onClick={() => setPaused(!isPaused)}
                leftSection={isPaused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
              >
                {isPaused ? 'Resume' : 'Pause'}
              </Button>
              <Button size="xs" variant="default" onClick={save} leftSection={<IconDownload size={14} />}>
                Download
              </Button>
            </>
          }
        >
          <Loaded query={query}>{() => <RequestTable requests={query.requests} />}</Loaded>
        </Section>
      )}
    </ProjectPage>
  )
}
