import { contract, type GitHostProvider } from '@berth/contract'
import { SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { useRead } from '../../data/read.ts'
import { ConnectSection } from './connect-section.tsx'
import { ConnectedSection } from './connected-section.tsx'
import { RepositoryBrowser } from './repository-browser.tsx'

const providers = [
  { value: 'github', label: 'GitHub' },
  { value: 'gitlab', label: 'GitLab' },
  { value: 'gitea', label: 'Gitea' },
]

/** The organisation's connection to its git host. */
export function GitHostPage() {
  const [provider, setProvider] = useState<GitHostProvider>('github')
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
      <Loaded query={status}>
        {(now) => (
          <>
            {now.state !== 'disconnected' && <ConnectedSection status={now} provider={provider} />}
            <ConnectSection key={provider} status={now} provider={provider} />
            {now.state === 'connected' && <RepositoryBrowser provider={provider} />}
          </>
        )}
      </Loaded>
    </Page>
  )
}
