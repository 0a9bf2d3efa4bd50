import { contract, type RegistryLogin } from '@berth/contract'
import { PasswordInput, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { AddButton } from '../../components/add-button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { SaveFooter } from '../../components/save-footer.tsx'
import { Section } from '../../components/section.tsx'
import { submitting } from '../../components/submitting.ts'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { useRefusal } from '../../data/refusal.ts'

const empty = { host: '', username: '', password: '' }

/** Logins for private images. Passwords are never shown. */
export function RegistrySection() {
  const refusal = useRefusal('organization:write')
  return refusal ? null : <Registries />
}

function Registries() {
  const [isOpen, setOpen] = useState(false)
  const [login, setLogin] = useState(empty)
  const [removed, setRemoved] = useState<RegistryLogin>()
  const logins = useRead(contract.registries.list, {})
  const refreshes = [contract.registries.list]
  const save = useChange(contract.registries.save, {
    refreshes,
    successMessage: ({ data }) => `Saved the login for ${data.host}.`,
  })
  const remove = useChange(contract.registries.remove, { refreshes, successMessage: 'Removed.' })
  const close = () => {
    setLogin(empty)
    setOpen(false)
  }
  const rows = logins.data ?? []
  const columns: Column<RegistryLogin>[] = [
    { title: 'Registry', isHeading: true, cell: ({ host }) => host },
    { title: 'User name', cell: ({ username }) => username },
    {
      title: '',
      cell: (row) => (
        <ActionButton size="xs" variant="default" aria-label={`Remove the login for ${row.host}`} onClick={() => setRemoved(row)}>
          Remove
        </ActionButton>
      ),
    },
  ]
  const field = (name: keyof typeof empty) => ({
    required: true,
    value: login[name],
    onChange: (event: { currentTarget: { value: string } }) => setLogin({ ...login, [name]: event.currentTarget.value }),
  })
  return (
    <form onSubmit={submitting(() => save.mutate({ body: login }, { onSuccess: close }))}>
      <Section
        title="Registries"
        description="Logins to pull private images for image projects, Compose files and Dockerfiles. A password is sent only to its registry."
        actions={!isOpen && <AddButton refusal={undefined} onClick={() => setOpen(true)} />}
        footer={
          isOpen && (
            <SaveFooter refusal={undefined} isPending={save.isPending} label="Save login">
              A login for the same registry replaces the existing one.
            </SaveFooter>
          )
        }
      >
        <Stack className="hides-empty">
          {rows.length > 0 && <DataTable label="Registry logins" rows={rows} columns={columns} keyOf={({ id }) => id} />}
          {isOpen && (
            <SimpleGrid cols={{ base: 1, sm: 3 }}>
              <TextInput label="Registry" placeholder="ghcr.io" autoFocus {...field('host')} />
              <TextInput label="User name" autoComplete="off" {...field('username')} />
              <PasswordInput label="Password or access token" autoComplete="new-password" {...field('password')} />
            </SimpleGrid>
          )}
        </Stack>
        <ConfirmDialog
          isOpen={removed !== undefined}
          title={`Remove the login for ${removed?.host}?`}
          action="Remove"
          isPending={remove.isPending}
          onClose={() => setRemoved(undefined)}
          onConfirm={() =>
            remove.mutate({ params: { registryId: removed?.id ?? '' } }, { onSettled: () => setRemoved(undefined) })
          }
        >
          Running projects are not affected. Deployments of its private images fail until you add a login again.
        </ConfirmDialog>
      </Section>
    </form>
  )
}
