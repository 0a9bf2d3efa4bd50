import { contract, type Project } from '@berth/contract'
import { Code, NativeSelect, Text } from '@mantine/core'
import { Facts } from '../../../components/facts.tsx'
import { Section } from '../../../components/section.tsx'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { useChange } from '../../../data/change.ts'
import { projectReads } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { sourceText } from '../../../rules/find-projects.ts'
import { commitText } from '../../../text/commit-text.ts'

export function RepositorySection({ project }: { project: Project }) {
  const params = { id: project.id }
  const refusal = useProjectRefusal(project.id, 'write')
  const git = useRead(contract.projects.getGit, { params })
  const status = useRead(contract.projects.commitStatus, { params })
  const branches = useRead(contract.projects.listBranches, { params })
  const setBranch = useChange(contract.projects.setBranch, {
    refreshes: [...projectReads, contract.projects.getGit, contract.projects.commitStatus],
    successMessage: 'Branch changed. Deploy to use it.',
  })
  // Without a branch of its own, the project deploys the default branch of the remote.
  const branch = project.source.branch ?? git.data?.branch ?? ''
  return (
    <Section title={sourceText(project)}>
      <Facts
        facts={[
          [
            'Deployed commit',
            status.data?.deployedCommit ? <Code key="d">{status.data.deployedCommit.slice(0, 7)}</Code> : 'none yet',
          ],
          ['Newest commit', status.data?.remoteCommit && <Code>{status.data.remoteCommit.slice(0, 7)}</Code>],
          ['State', status.data ? commitText(status.data) : status.error?.message],
        ]}
      />
      <NativeSelect
        mt="md"
        maw={320}
        label="Branch"
        disabled={!!refusal}
        description={refusal ?? branches.error?.message}
        value={branch}
        data={[...new Set([branch, ...(branches.data ?? []).map(({ name }) => name)])].filter(Boolean)}
        onChange={(event) => setBranch.mutate({ params, body: { branch: event.currentTarget.value } })}
      />
      {git.data && git.data.recentCommits.length > 0 && (
        <>
          <Text size="sm" fw={600} mt="lg" mb={4}>
            Latest commits
          </Text>
          {git.data.recentCommits.slice(0, 8).map(({ sha, message, author, committedAt }) => (
            <Text key={sha} size="sm" className="wrap-anywhere">
              <Code>{sha.slice(0, 7)}</Code> {message.split('\n')[0]}{' '}
              <Text span size="xs" c="dimmed">
                {author}, <TimeAgo time={committedAt} />
              </Text>
            </Text>
          ))}
        </>
      )}
    </Section>
  )
}
