import { contract, type DeployHook, type Project } from '@berth/contract'
import { Alert, Code, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { AddButton } from '../../../components/add-button.tsx'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { SaveFooter } from '../../../components/save-footer.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

/** Deploy hooks: URLs that deploy the project when a CI system or a registry calls them. */
export function HooksSection({ project: { id } }: { project: Project }) {
  const params = { id }
  const [isOpen, setOpen] = useState(false)
  const [name, setName] = useState('')
  const [environment, setEnvironment] = useState('production')
  const [newUrl, setNewUrl] = useState<string>()
  const refusal = useProjectRefusal(id, 'write')
  const environments = useRead(contract.projects.listEnvironments, { params })
  const hooks = useRead(contract.deployments.listHooks, { params })
  const refreshes = [contract.deployments.listHooks]
  const create = useChange(contract.deployments.createHook, { refreshes })
  const remove = useChange(contract.deployments.removeHook, { refreshes, successMessage: 'Deleted. Its URL no longer works.' })
  const rows = hooks.data ?? []
  const columns: Column<DeployHook>[] = [
    { title: 'Name', isHeading: true, cell: (hook) => hook.name },
    { title: 'Environment', cell: (hook) => hook.environment },
    { title: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt ? new Date(lastUsedAt).toLocaleString() : 'never') },
    {
      title: '',
      cell: (hook) => (
        <ActionButton
          size="xs"
          variant="default"
          refusal={refusal}
          aria-label={`Delete the hook ${hook.name}`}
          onClick={() => remove.mutate({ params: { id, hookId: hook.id } })}
        >
          Delete
        </ActionButton>
      ),
    },
  ]
  const add = () =>
    create.mutate(
      { params, body: { name, environment } },
      {
        onSuccess: ({ data }) => {
          setNewUrl(data.url)
          setName('')
          setOpen(false)
        },
      },
    )
  return (
    <form onSubmit={submitting(add)}>
      <Section
        title="Deploy hooks"
        description="A POST to the URL of a hook deploys the project, for example after CI has pushed a new image."
        actions={!isOpen && <AddButton refusal={refusal} onClick={() => setOpen(true)} />}
        footer={isOpen && <SaveFooter refusal={refusal} isPending={create.isPending} label="Create hook" />}
      >
        <Stack className="hides-empty">
          {newUrl && (
            <Alert
              color="green"
              title="Copy the URL now. It is not shown again."
              withCloseButton
              onClose={() => setNewUrl(undefined)}
            >
              <Code className="wrap-anywhere">{newUrl}</Code>
            </Alert>
          )}
          {rows.length > 0 && <DataTable label="Deploy hooks" rows={rows} columns={columns} keyOf={(hook) => hook.id} />}
          {isOpen && (
            <TextInput
              label="Hook name"
              placeholder="CI"
              required
              autoFocus
              maxLength={100}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          )}
          {isOpen && (environments.data?.length ?? 0) > 1 && (
            <NativeSelect
              label="Environment"
              data={environments.data?.map(({ slug }) => slug) ?? []}
              value={environment}
              onChange={(event) => setEnvironment(event.currentTarget.value)}
            />
          )}
        </Stack>
      </Section>
    </form>
  )
}
