import { contract, type GitHostProvider, type Repository } from '@berth/contract'
import { Button, Code, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useRead } from '../../data/read.ts'
import { knownFiles } from '../../rules/known-files.ts'
import type { ChooserProps } from './chooser.ts'

interface Props extends Pick<ChooserProps, 'onChosen'> {
  repository: Repository
  provider: GitHostProvider
  onBack(): void
}

/** Selects a branch, and lists the known files of its root folder. */
export function BranchChoice({ repository, provider, onBack, onChosen }: Props) {
  const { owner, name: repo, fullName, defaultBranch } = repository
  const params = { owner, repo }
  const branches = useRead(contract.gitHost.listBranches, { params, query: { provider } })
  const [chosen, setBranch] = useState<string>()
  const branch = chosen ?? defaultBranch ?? branches.data?.[0]?.name ?? 'main'
  const files = useRead(contract.gitHost.listFiles, { params, query: { branch, provider } })
  const found = knownFiles((files.data ?? []).map(({ name }) => name))
  return (
    <Stack>
      <Text fw={600} className="wrap-anywhere">
        {fullName}
      </Text>
      <NativeSelect
        label="Branch"
        value={branch}
        data={[...new Set([branch, ...(branches.data ?? []).map(({ name }) => name)])]}
        onChange={(event) => setBranch(event.currentTarget.value)}
      />
      <div>
        <Text size="sm" fw={500}>
          Detected build files
        </Text>
        {files.isPending && <Text size="sm">Reading files…</Text>}
        {files.error && <Text size="sm">{files.error.message}</Text>}
        {files.data && found.length === 0 && (
          <Text size="sm" c="dimmed">
            The root folder contains no known build file: its files are served as a static site. If the project is in a subfolder,
            set the root directory in the next step.
          </Text>
        )}
        {found.map(({ file, description }) => (
          <Text key={file} size="sm">
            <Code>{file}</Code> {description}
          </Text>
        ))}
      </div>
      <Group>
        <Button
          onClick={() =>
            onChosen({
              fields: { gitProvider: provider, gitOwner: owner, gitRepo: repo, gitBranch: branch },
              repository: { provider, owner, repo },
              name: repo,
              text: `${fullName}, branch ${branch}`,
              detection: null,
            })
          }
        >
          Use this branch
        </Button>
        <Button variant="default" onClick={onBack}>
          Another repository
        </Button>
      </Group>
    </Stack>
  )
}
