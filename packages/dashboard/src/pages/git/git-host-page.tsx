import { contract, type GitHostProvider } from '@berth/contract'
import { SegmentedControl } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { useRead } from '../../data/read.ts'
import { ApplicationSection } from './application-section.tsx'
import { ConnectResult } from './connect-result.tsx'
import { ConnectSection } from './connect-section.tsx'
import { ConnectedSection } from './connected-section.tsx'
import { RepositoryBrowser } from './repository-browser.tsx'
import { StoreApp } from './store-app.tsx'

const providers: { value: GitHostProvider; label: string }[] = [
  { value: 'github', label: 'GitHub' },
  { value: 'gitlab', label: 'GitLab' },
  { value: 'gitea', label: 'Gitea, Forgejo' },
]

/** Search parameters of a browser that returns from a git host: the result of a connection, or the code of a new app. */
interface Returned {
  connected?: string
  error?: string
  code?: string | number
  state?: string
}

/** The organisation's connection to its git host. */
export function GitHostPage() {
  const { connected, error, ...search } = useSearch({ strict: false }) as Returned
  const [{ code, state }] = useState(search)
  const returnedFrom = providers.find(({ value }) => value === connected)
  const [provider, setProvider] = useState<GitHostProvider>(returnedFrom?.value ?? 'github')
  const status = useRead(contract.gitHost.status, { query: { provider } })
  return (
    <Page
      title="Git host"
      description="Connect a git host to list repositories, deploy every push and get previews of pull requests."
    >
      <SegmentedControl
        aria-label="Git host"
        data={providers}
        value={provider}
        onChange={(value) => setProvider(value as GitHostProvider)}
        style={{ alignSelf: 'flex-start' }}
      />
      {code !== undefined && state !== undefined && <StoreApp code={String(code)} state={state} />}
      <Loaded query={status}>
        {(now) => (
          <>
            {(returnedFrom?.value === provider || error) && (
              <ConnectResult connected={returnedFrom?.label} error={error} status={now} />
            )}
            {now.state !== 'disconnected' && <ConnectedSection status={now} provider={provider} />}
            <ConnectSection key={provider} status={now} provider={provider} />
            <ApplicationSection provider={provider} />
            {now.state === 'connected' && <RepositoryBrowser provider={provider} />}
          </>
        )}
      </Loaded>
    </Page>
  )
}
