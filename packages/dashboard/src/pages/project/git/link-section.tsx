import { contract, type Project } from '@berth/contract'
import { Group, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { RouterLink } from '../../../components/router-link.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { projectReads } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

/** Links a repository, or replaces the linked one. */
export function LinkSection({ project }: { project: Project }) {
  const { source } = project
  const [owner, setOwner] = useState(source.owner ?? '')
  const [repo, setRepo] = useState(source.repo ?? '')
  const [branch, setBranch] = useState('')
  const refusal = useProjectRefusal(project.id, 'write')
  const host = useRead(contract.gitHost.status, { query: {} })
  const isConnected = host.data?.state !== 'disconnected'
  const link = useChange(contract.projects.linkGit, {
    refreshes: [...projectReads, contract.projects.getGit, contract.projects.listBranches, contract.projects.commitStatus],
    successMessage: 'Linked.',
  })
  const submit = () => link.mutate({ params: { id: project.id }, body: { owner, repo, ...(branch ? { branch } : {}) } })
  return (
    <Section
      title={source.kind === 'git' ? 'Link another repository' : 'Link a repository'}
      description={
        <>
          {isConnected ? 'From the connected git host. ' : 'No git host is connected. '}
          {source.kind !== 'git' && 'The repository replaces the current source. '}
          <RouterLink to="/git" size="sm" underline="always">
            {isConnected ? 'Browse repositories' : 'Connect a git host'}
          </RouterLink>
        </>
      }
    >
      <form onSubmit={submitting(submit)}>
        <Group align="flex-end" gap="sm">
          <TextInput
            flex="1 1 8rem"
            label="Owner"
            required
            value={owner}
            onChange={(event) => setOwner(event.currentTarget.value)}
          />
          <TextInput
            flex="1 1 8rem"
            label="Repository"
            required
            value={repo}
            onChange={(event) => setRepo(event.currentTarget.value)}
          />
          <TextInput
            flex="1 1 8rem"
            label="Branch"
            placeholder="default branch"
            value={branch}
            onChange={(event) => setBranch(event.currentTarget.value)}
          />
          <ActionButton type="submit" variant="default" refusal={refusal} loading={link.isPending}>
            Link
          </ActionButton>
        </Group>
      </form>
      <Text size="xs" c="dimmed" mt="xs">
        Linking does not start a deployment.
      </Text>
    </Section>
  )
}
