import { contract } from '@berth/contract'
import { Textarea, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { AddButton } from '../../components/add-button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { SaveFooter } from '../../components/save-footer.tsx'
import { Section } from '../../components/section.tsx'
import { submitting } from '../../components/submitting.ts'
import { activeOrganization } from '../../data/active-organization.ts'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { useRefusal } from '../../data/refusal.ts'
import { useSession } from '../../data/session.ts'
import { plural } from '../../text/sizes.ts'
import { MachineSection } from './machine-section.tsx'
import { RegistrySection } from './registry-section.tsx'
import { StorageSection } from './storage-section.tsx'

export function OrganizationSettingsPage() {
  const session = useSession()
  return (
    <Page title="Organisation">
      <Loaded query={session}>
        {({ organization }) => (
          <>
            <NameForm key={organization.name} id={organization.id} name={organization.name} />
            <RepositoryForm
              key={String(organization.memberRepositories)}
              id={organization.id}
              patterns={organization.memberRepositories}
            />
            <TwoFactorRequirement id={organization.id} isRequired={organization.requireTwoFactor ?? false} />
            <RegistrySection />
            <MachineSection />
            <StorageSection />
            <AnotherOrganization />
            <DeleteOrganization id={organization.id} name={organization.name} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

const refreshes = [contract.access.session, contract.access.listOrganizations]

function NameForm({ id, name: stored }: { id: string; name: string }) {
  const [name, setName] = useState(stored)
  const refusal = useRefusal('organization:admin')
  const save = useChange(contract.access.updateOrganization, { refreshes, successMessage: 'Renamed.' })
  return (
    <form onSubmit={submitting(() => save.mutate({ params: { id }, body: { name } }))}>
      <Section
        title="Name"
        footer={
          <SaveFooter refusal={refusal} isPending={save.isPending}>
            Shown to its members and in e-mails.
          </SaveFooter>
        }
      >
        <TextInput
          aria-label="Name"
          required
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
      </Section>
    </form>
  )
}

function RepositoryForm({ id, patterns }: { id: string; patterns: readonly string[] | null }) {
  const [text, setText] = useState((patterns ?? []).join('\n'))
  const refusal = useRefusal('organization:admin')
  const save = useChange(contract.access.updateOrganization, { refreshes, successMessage: 'Saved.' })
  const lines = text.split(/[\s,]+/).filter(Boolean)
  return (
    <form
      onSubmit={submitting(() => save.mutate({ params: { id }, body: { memberRepositories: lines.length > 0 ? lines : null } }))}
    >
      <Section
        title="Repositories visible to members"
        description="One per line: owner/* or owner/repository. Empty: members see all repositories of the connection."
        footer={
          <SaveFooter refusal={refusal} isPending={save.isPending}>
            Owners and admins always see all.
          </SaveFooter>
        }
      >
        <Textarea
          aria-label="Repositories"
          placeholder="all"
          autosize
          minRows={2}
          classNames={{ input: 'mono' }}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </Section>
    </form>
  )
}

function TwoFactorRequirement({ id, isRequired }: { id: string; isRequired: boolean }) {
  const [isConfirming, setConfirming] = useState(false)
  const refusal = useRefusal('organization:admin')
  const members = useRead(contract.access.listMembers, { query: { limit: 500 } }, { isEnabled: isConfirming })
  const save = useChange(contract.access.updateOrganization, { refreshes, successMessage: 'Saved.' })
  const without = members.data?.filter(({ twoFactor }) => !twoFactor) ?? []
  const require = (requireTwoFactor: boolean) =>
    save.mutate({ params: { id }, body: { requireTwoFactor } }, { onSettled: () => setConfirming(false) })
  return (
    <Section
      title="Two-factor authentication"
      description={isRequired ? 'Required of every member.' : 'Each member decides for their own account.'}
      actions={
        <ActionButton
          variant="default"
          refusal={refusal}
          loading={save.isPending}
          onClick={() => (isRequired ? require(false) : setConfirming(true))}
        >
          {isRequired ? 'Stop requiring it' : 'Require it…'}
        </ActionButton>
      }
    >
      <ConfirmDialog
        isOpen={isConfirming}
        title="Require two-factor authentication?"
        action="Require it"
        isPending={save.isPending}
        onConfirm={() => require(true)}
        onClose={() => setConfirming(false)}
      >
        Members without it lose access until they set it up, and so do their access tokens, for example those of CI.{' '}
        {without.length > 0 && `At present these have none: ${without.map(({ email }) => email).join(', ')}.`}
      </ConfirmDialog>
    </Section>
  )
}

function AnotherOrganization() {
  const [isOpen, setOpen] = useState(false)
  const [name, setName] = useState('')
  const queries = useQueryClient()
  const navigate = useNavigate()
  const refusal = useRefusal('organization:write')
  const create = useChange(contract.access.createOrganization, { refreshes, successMessage: 'Created. You are its owner.' })
  const add = () =>
    create.mutate(
      { body: { name } },
      {
        onSuccess: async ({ data }) => {
          activeOrganization.set(data.id)
          await navigate({ to: '/' })
          await queries.resetQueries()
        },
      },
    )
  return (
    <form onSubmit={submitting(add)}>
      <Section
        title="Another organisation"
        description="It has its own projects, members and audit log. Switch organisations in the account menu."
        actions={!isOpen && <AddButton refusal={refusal} onClick={() => setOpen(true)} />}
        footer={isOpen && <SaveFooter refusal={refusal} isPending={create.isPending} label="Create" />}
      >
        {isOpen ? (
          <TextInput
            label="Name"
            required
            autoFocus
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
        ) : undefined}
      </Section>
    </form>
  )
}

function DeleteOrganization({ id, name }: { id: string; name: string }) {
  const [isConfirming, setConfirming] = useState(false)
  const projects = useRead(contract.projects.home, {})
  const count = projects.data?.filter(({ location }) => location === 'local').length ?? 0
  const refusal = useRefusal('organization:delete') ?? (count > 0 ? `Delete its ${plural(count, 'project')} first.` : undefined)
  const remove = useChange(contract.access.deleteOrganization, { successMessage: 'Deleted.' })
  return (
    <Section
      isDanger
      title="Delete"
      description="An organisation with projects cannot be deleted."
      actions={
        <ActionButton color="red" variant="outline" refusal={refusal} onClick={() => setConfirming(true)}>
          Delete this organisation
        </ActionButton>
      }
    >
      <ConfirmDialog
        isOpen={isConfirming}
        title={`Delete ${name}?`}
        typed={name}
        action="Delete permanently"
        isPending={remove.isPending}
        onConfirm={() =>
          remove.mutate(
            { params: { id } },
            {
              onSuccess: () => {
                activeOrganization.set(null)
                window.location.assign('/')
              },
              onError: () => setConfirming(false),
            },
          )
        }
        onClose={() => setConfirming(false)}
      >
        Its members, invitations, tokens and channels are deleted too.
      </ConfirmDialog>
    </Section>
  )
}
