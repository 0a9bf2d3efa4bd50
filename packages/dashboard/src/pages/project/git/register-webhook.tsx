import { contract, type Project } from '@berth/contract'
import { Text } from '@mantine/core'
import { ActionButton } from '../../../components/action-button.tsx'
import { ErrorState } from '../../../components/error-state.tsx'
import { RouterLink } from '../../../components/router-link.tsx'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal, useRefusal } from '../../../data/may.ts'
import { hostedAt } from '../../../rules/git-address.ts'

/** Puts the webhook on the repository, by the connection to its git host. */
export function RegisterWebhook({ project }: { project: Project }) {
  const noTag = useRefusal('gitprovider:write')
  const noWrite = useProjectRefusal(project.id, 'write')
  const register = useChange(contract.gitHost.registerWebhook, {
    refreshes: [contract.projects.getGit],
    says: 'Webhook registered. Pushes will be deployed.',
    isQuiet: true,
  })
  const at = hostedAt(project.source)
  if (!at)
    return (
      <Text size="sm" c="dimmed">
        The source is an address and not a repository of a connected git host: deploy by hand, or link the repository below.
      </Text>
    )
  const { provider, owner, repo } = at
  return (
    <div>
      <ActionButton
        variant="default"
        refusal={noTag ?? noWrite}
        loading={register.isPending}
        onClick={() => register.mutate({ params: { owner, repo }, query: { provider } })}
      >
        Register the webhook
      </ActionButton>
      {register.error && (
        <>
          <ErrorState mt="md" error={register.error} />
          <Text size="sm" mt="xs">
            It needs the{' '}
            <RouterLink to="/git" size="sm" underline="always">
              connection to the git host
            </RouterLink>{' '}
            and its leave to administer the repository.
          </Text>
        </>
      )}
    </div>
  )
}
