import { type BackupPolicy, contract, type Project } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { Button, Group, Modal } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { ErrorState } from '../../../components/error-state.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { policyBody, policyForm } from '../../../rules/policy-form.ts'
import { PolicyFields } from './policy-fields.tsx'

interface Props {
  project: Project
  policy: BackupPolicy
  onClose(): void
}

export function EditPolicy({ project, policy, onClose }: Props) {
  const [form, setForm] = useState(() => policyForm(policy))
  const refusal = useProjectRefusal(project.id, 'write')
  const update = useChange(contract.backups.updatePolicy, {
    refreshes: [contract.backups.listPolicies],
    successMessage: 'Policy changed.',
    hidesErrorNotice: true,
  })
  const { error } = update
  const save = () => update.mutate({ params: { policyId: policy.id }, body: policyBody(form) }, { onSuccess: onClose })
  return (
    <Modal
      opened
      size="lg"
      onClose={onClose}
      title={`Change the policy of ${project.name}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
      closeOnClickOutside={false}
    >
      <form onSubmit={submitting(save)}>
        <PolicyFields
          projectId={project.id}
          form={form}
          onChange={setForm}
          error={error}
          volumes={project.config.volumes.map(({ name }) => name)}
        />
        {error && !(error instanceof ApiError && error.field) && <ErrorState error={error} />}
        <Group justify="flex-end" gap="xs" mt="md">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <ActionButton type="submit" refusal={refusal} loading={update.isPending}>
            Save
          </ActionButton>
        </Group>
      </form>
    </Modal>
  )
}
