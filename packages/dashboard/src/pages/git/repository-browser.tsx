import { contract, type GitHostProvider, type Repository } from '@berth/contract'
import { Badge, Text, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useState } from 'react'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { ExternalLink } from '../../components/external-link.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { ButtonLink } from '../../components/router-link.tsx'
import { Section } from '../../components/section.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useRead } from '../../data/read.ts'

const maxShown = 100

const columnsOf = (provider: GitHostProvider): Column<Repository>[] => [
  {
    title: 'Repository',
    isHeading: true,
    cell: ({ fullName, htmlUrl, private: isPrivate, description }) => (
      <div>
        <ExternalLink url={htmlUrl}>{fullName}</ExternalLink>{' '}
        {isPrivate && (
          <Badge size="xs" variant="default">
            private
          </Badge>
        )}
        {description && (
          <Text size="xs" c="dimmed">
            {description}
          </Text>
        )}
      </div>
    ),
  },
  { title: 'Language', isWide: true, cell: ({ language }) => language ?? '–' },
  { title: 'Changed', cell: ({ updatedAt }) => (updatedAt ? <TimeAgo time={updatedAt} /> : '–') },
  {
    title: '',
    alignRight: true,
    cell: ({ fullName }) => (
      <ButtonLink
        to="/new"
        search={{ from: 'repository', provider, repository: fullName } as never}
        size="compact-sm"
        fz="xs"
        variant="default"
        aria-label={`Deploy ${fullName}`}
      >
        Deploy
      </ButtonLink>
    ),
  },
]

export function RepositoryBrowser({ provider }: { provider: GitHostProvider }) {
  const [search, setSearch] = useState('')
  const home = useRead(contract.gitHost.home, { query: { provider } })
  return (
    <Section
      title="Repositories"
      isFlush
      actions={
        <TextInput
          size="xs"
          aria-label="Search repositories"
          placeholder="Search"
          leftSection={<IconSearch size={14} />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      }
    >
      <Loaded query={home}>
        {({ repos }) => {
          const found = repos.filter(({ fullName }) => fullName.toLowerCase().includes(search.toLowerCase()))
          if (found.length === 0)
            return (
              <Text c="dimmed" size="sm" px={{ base: 'md', sm: 'lg' }} pb="lg">
                {search ? `No repository matches “${search}”.` : 'This connection has access to no repositories.'}
              </Text>
            )
          return (
            <>
              <DataTable
                label="Repositories"
                columns={columnsOf(provider)}
                rows={found.slice(0, maxShown)}
                keyOf={({ id }) => id}
              />
              {found.length > maxShown && (
                <Text size="sm" c="dimmed" p="md">
                  and {found.length - maxShown} more: search for yours
                </Text>
              )}
            </>
          )
        }}
      </Loaded>
    </Section>
  )
}
