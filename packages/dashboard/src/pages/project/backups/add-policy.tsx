import { contract, type Project } from '@berth/contract'
import { Alert, Group, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { AddSection } from '../../../components/add-section.tsx'
import { RouterLink } from '../../../components/router-link.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { newPolicy, policyBody } from '../../../rules/policy-form.ts'
import { PolicyFields } from './policy-fields.tsx'

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone

export function AddPolicy({ project, isFirst }: { project: Project; isFirst: boolean }) {
  const refusal = useProjectRefusal(project.id, 'write')
  const destinations = useRead(contract.backups.listDestinations, { query: { projectId: project.id } })
  const [filled, setForm] = useState(() => newPolicy(zone))
  const [serviceId, setService] = useState('')
  const form = { ...filled, destinationId: filled.destinationId || destinations.data?.[0]?.id || '' }
  const create = useChange(contract.backups.createPolicy, {
    refreshes: [contract.backups.listPolicies],
    successMessage: 'Policy created.',
  })
  const add = () =>
    create.mutate(
      { params: { projectId: project.id }, body: { ...policyBody(form), ...(serviceId ? { serviceId } : {}) } },
      { onSuccess: () => setForm(newPolicy(zone)) },
    )
  if (destinations.data?.length === 0)
    return (
      <Alert color="harbour" title="Add a destination first">
        Backups go to a folder, an S3 bucket or an SFTP server.{' '}
        {project.location === 'cloud' ? (
          'Add a destination in the dashboard of the cloud.'
        ) : (
          <RouterLink to="/backups" inherit underline="always">
            Add a destination
          </RouterLink>
        )}
      </Alert>
    )
  const { services, volumes } = project.config
  return (
    <AddSection
      isFirst={isFirst}
      refusal={refusal}
      title="Add a policy"
      description="Backs up all volumes and detected databases, compressed and encrypted with the key of this instance."
    >
      <form onSubmit={submitting(add)}>
        {services.length > 0 && (
          <NativeSelect
            mb="md"
            label="Content"
            value={serviceId}
            data={[
              { value: '', label: 'Whole project' },
              ...services.map(({ name }) => ({ value: name, label: `Only ${name}` })),
            ]}
            onChange={(event) => setService(event.currentTarget.value)}
          />
        )}
        <PolicyFields
          projectId={project.id}
          form={form}
          onChange={setForm}
          error={create.error}
          volumes={volumes.map(({ name }) => name)}
        />
        <Group justify="flex-end" mt="md">
          <ActionButton type="submit" refusal={refusal} loading={create.isPending}>
            Add the policy
          </ActionButton>
        </Group>
      </form>
    </AddSection>
  )
}
