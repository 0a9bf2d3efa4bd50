import { contract, type Deployment } from '@berth/contract'
import { Code, Text } from '@mantine/core'
import { Facts } from '../../../components/facts.tsx'
import { RouterLink } from '../../../components/router-link.tsx'
import { Section } from '../../../components/section.tsx'
import { useRead } from '../../../data/read.ts'
import { changeLines } from '../../../text/change-lines.ts'

/** The differences from the version that was live before: commit, variables by name, and settings. */
export function ChangesSection({ deployment }: { deployment: Deployment }) {
  const { id, projectId, commit, status } = deployment
  // The variables are recorded when the deployment starts: the status is part of the key, so that they are read again.
  const { data } = useRead(
    contract.deployments.changes,
    { params: { id } },
    { refetchIntervalMs: status === 'queued' ? 2000 : false },
  )
  if (!data?.previous) return null
  const { previous } = data
  const lines = changeLines(data, commit)
  return (
    <Section
      title="Changes"
      description={
        <>
          Since{' '}
          <RouterLink to={`/projects/${projectId}/deployments/${previous.id}`} size="sm" underline="always">
            #{previous.number}
          </RouterLink>
          , the version that was live before
        </>
      }
    >
      {lines.length === 0 && (
        <Text size="sm">
          {commit
            ? 'None: it has the same commit, variables and settings.'
            : 'The variables and settings are the same. Files without a commit are not compared.'}
        </Text>
      )}
      <Facts
        facts={lines.map(({ name, values }) => [
          name,
          values.map((value) => (
            <div key={value}>
              <Code>{value}</Code>
            </div>
          )),
          'wide',
        ])}
      />
    </Section>
  )
}
