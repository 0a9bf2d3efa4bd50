import { contract } from '@berth/contract'
import { Alert, Group, List, Stack, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { Section } from '../../components/section.tsx'
import { submitting } from '../../components/submitting.ts'
import { useChange } from '../../data/change.ts'
import { useRefusal } from '../../data/refusal.ts'
import { plural } from '../../text/sizes.ts'

interface Props {
  serverId: string
  serviceNames: string[]
}

/** Shows the plan, then creates a project from the services. The server does not change until it is deployed. */
export function AdoptForm({ serverId, serviceNames }: Props) {
  const navigate = useNavigate()
  const [projectName, setProjectName] = useState('')
  const refusal = useRefusal('server:write')
  const plan = useChange(contract.migration.adopt)
  const adopt = useChange(contract.migration.adopt, {
    refreshes: [contract.projects.home],
    successMessage: 'Adopted. Deploy it when you are ready.',
  })
  const body = { serverId, projectName, serviceNames }
  const submitAdoption = () =>
    adopt.mutate(
      { body },
      { onSuccess: ({ project }) => project && void navigate({ to: '/projects/$id', params: { id: project.id } }) },
    )
  return (
    <Section
      title={`Adopt ${plural(serviceNames.length, 'service')}`}
      description="Creates a project with these services, their variables and volumes. The server does not change before the first deployment."
    >
      <form onSubmit={submitting(submitAdoption)}>
        <Stack>
          <Group align="flex-end" gap="sm">
            <TextInput
              flex="1 1 14rem"
              label="Project name"
              required
              maxLength={100}
              value={projectName}
              onChange={(event) => setProjectName(event.currentTarget.value)}
            />
            <ActionButton
              variant="default"
              refusal={refusal ?? (projectName ? undefined : 'Enter a name first.')}
              loading={plan.isPending}
              onClick={() => plan.mutate({ query: { plan: true }, body })}
            >
              Show plan
            </ActionButton>
          </Group>
          {plan.data && (
            <Alert title="What the first deployment will do">
              <List size="sm" type="ordered" pl="xl">
                {plan.data.plan.map((step) => (
                  <List.Item key={step}>{step}</List.Item>
                ))}
              </List>
              {plan.data.warnings.length > 0 && (
                <List size="sm" mt="sm" pl="xl">
                  {plan.data.warnings.map((warning) => (
                    <List.Item key={warning}>{warning}</List.Item>
                  ))}
                </List>
              )}
            </Alert>
          )}
          <Group justify="flex-end">
            <ActionButton type="submit" refusal={refusal} loading={adopt.isPending}>
              Adopt
            </ActionButton>
          </Group>
        </Stack>
      </form>
    </Section>
  )
}
