import { contract, type Project } from '@berth/contract'
import { Text } from '@mantine/core'
import { ActionButton } from '../../../components/action-button.tsx'
import { ErrorState } from '../../../components/error-state.tsx'
import { RouterLink } from '../../../components/router-link.tsx'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal, useRefusal } from '../../../data/refusal.ts'
import { hostedAt } from '../../../rules/git-address.ts'

/** Registers the webhook at the git host, through the organisation's connection. */
export function RegisterWebhook({ project }: { project: Project }) {
  const permissionRefusal = useRefusal('gitprovider:write')
  const writeRefusal = useProjectRefusal(project.id, 'write')
  const register = useChange(contract.gitHost.registerWebhook, {
    refreshes: [contract.projects.getGit],
    successMessage: 'Webhook registered. Pushes will be deployed.',
    hidesErrorNotice: true,
  })
  const at = hostedAt(project.source)
  if (!at)
    return (
      <Text size="sm" c="dimmed">
        The source is a URL and not a repository of a connected git host. Deploy manually, or link the repository below.
      </Text>
    )
  const { provider, owner, repo } = at
  return (
    <div>
      <ActionButton
        variant="default"
        refusal={permissionRefusal ?? writeRefusal}
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
            with permission to administer the repository.
          </Text>
        </>
      )}
    </div>
  )
}
