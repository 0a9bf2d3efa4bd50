import { contract, type GitHostProvider, type Repository } from '@berth/contract'
import { Loader, NativeSelect, Text, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useState } from 'react'
import { RouterLink } from '../../components/router-link.tsx'
import { useRead } from '../../data/read.ts'
import { BranchChoice } from './branch-choice.tsx'
import type { ChooserProps } from './chooser.ts'
import { GitAddress } from './git-address.tsx'
import { RepositoryList } from './repository-list.tsx'

/** One of the connected host's repositories, or any by its address. */
export function RepositorySource({ onChosen }: ChooserProps) {
  const [provider, setProvider] = useState<GitHostProvider>('github')
  const home = useRead(contract.gitHost.home, { query: { provider } })
  const [search, setSearch] = useState('')
  const [repository, setRepository] = useState<Repository>()
  if (repository)
    return (
      <BranchChoice repository={repository} provider={provider} onBack={() => setRepository(undefined)} onChosen={onChosen} />
    )
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
          { value: 'gitea', label: 'Gitea' },
        ]}
        onChange={(event) => setProvider(event.currentTarget.value as GitHostProvider)}
      />
      {home.isPending && <Loader size="sm" aria-label="Asking the git host" />}
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
          <RepositoryList repositories={home.data.repos} search={search} onPick={setRepository} />
        </>
      ) : (
        !home.isPending && (
          <Text size="sm" c="dimmed" mb="md">
            No git host is connected, so repositories cannot be listed and pushes do not deploy by themselves.{' '}
            <RouterLink to="/git" underline="always">
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
