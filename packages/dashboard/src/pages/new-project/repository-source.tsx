import { contract, type GitHostProvider, type Repository } from '@berth/contract'
import { Loader, NativeSelect, Text, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { RouterLink } from '../../components/router-link.tsx'
import { useRead } from '../../data/read.ts'
import { BranchChoice } from './branch-choice.tsx'
import type { ChooserProps } from './chooser.ts'
import { GitAddress } from './git-address.tsx'
import { RepositoryList } from './repository-list.tsx'

/** Selects a repository of the connected git host, or any repository by its URL. */
export function RepositorySource({ onChosen }: ChooserProps) {
  const navigate = useNavigate()
  // A user who comes from the list of repositories has chosen one already.
  const preselected = useSearch({ strict: false }) as { provider?: GitHostProvider; repository?: string }
  const [provider, setProvider] = useState<GitHostProvider>(preselected.provider ?? 'github')
  const home = useRead(contract.gitHost.home, { query: { provider } })
  const [search, setSearch] = useState('')
  const [selected, setSelected] = useState<Repository>()
  const repository = selected ?? home.data?.repos.find(({ fullName }) => fullName === preselected.repository)
  const deselect = () => {
    setSelected(undefined)
    void navigate({ to: '/new', search: { from: 'repository' } as never, replace: true })
  }
  if (repository) return <BranchChoice repository={repository} provider={provider} onBack={deselect} onChosen={onChosen} />
  return (
    <>
      <NativeSelect
        label="Git host"
        maw={220}
        mb="md"
        value={provider}
        data={[
          { value: 'github', label: 'GitHub' },
          { value: 'gitlab', label: 'GitLab' },
          { value: 'gitea', label: 'Gitea, Forgejo' },
        ]}
        onChange={(event) => setProvider(event.currentTarget.value as GitHostProvider)}
      />
      {home.isPending && <Loader size="sm" aria-label="Loading repositories" />}
      {home.data?.state === 'connected' ? (
        <>
          <TextInput
            aria-label="Search repositories"
            placeholder="Search repositories"
            leftSection={<IconSearch size={16} />}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
            mb="xs"
          />
          <RepositoryList repositories={home.data.repos} search={search} onPick={setSelected} />
          <Text size="sm" c="dimmed" my="md">
            Or give the address of any other repository:
          </Text>
        </>
      ) : (
        !home.isPending && (
          <Text size="sm" c="dimmed" mb="md">
            No git host is connected, so repositories cannot be listed and pushes are not deployed automatically.{' '}
            <RouterLink to="/git" inherit underline="always">
              Connect one
            </RouterLink>
            , or give an address:
          </Text>
        )
      )}
      <GitAddress onChosen={onChosen} />
    </>
  )
}
