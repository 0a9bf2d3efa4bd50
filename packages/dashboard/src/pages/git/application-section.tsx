import { contract, type GitApplication, type GitHostProvider } from '@berth/contract'
import { Alert, Group, List, Stack } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { CopyText } from '../../components/copy-text.tsx'
import { ExternalLink } from '../../components/external-link.tsx'
import { type Fact, Facts } from '../../components/facts.tsx'
import { Section } from '../../components/section.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { useRefusal } from '../../data/refusal.ts'
import { useSession } from '../../data/session.ts'
import { ApplicationDialog } from './application-dialog.tsx'
import { CreateAppDialog } from './create-app-dialog.tsx'
import { endText } from './end-text.ts'
import { providerNames } from './provider-names.ts'

/** The application at the git host that this instance signs in with, shown only to operators of the instance. */
export function ApplicationSection({ provider }: { provider: GitHostProvider }) {
  const isOperator = useSession().data?.operator ?? false
  const applications = useRead(contract.gitHost.listApplications, {}, { isEnabled: isOperator })
  const application = applications.data?.find((one) => one.provider === provider)
  return application ? <Application key={provider} application={application} /> : null
}

const descriptions = {
  environment: 'Set by environment variables of this instance, which take precedence. Change them there and restart.',
  stored: 'Stored encrypted on this instance, for all of its organisations.',
  none: 'Berth signs in at the git host with an application that you create there, once for all organisations.',
}

function Application({ application }: { application: GitApplication }) {
  const [open, setOpen] = useState<'app' | 'oauth' | 'remove'>()
  const refusal = useRefusal('gitprovider:admin')
  const remove = useChange(contract.gitHost.removeApplication, {
    refreshes: [contract.gitHost.listApplications, contract.gitHost.status, contract.gitHost.home],
    successMessage: 'Application removed.',
  })
  const { provider, origin, problems, isStored } = application
  const name = providerNames[provider]
  const close = () => setOpen(undefined)
  const isEditable = origin !== 'environment'
  return (
    <Section
      title={`${name} application`}
      description={descriptions[origin]}
      actions={
        isStored && (
          <ActionButton size="xs" variant="default" refusal={refusal} onClick={() => setOpen('remove')}>
            Remove
          </ActionButton>
        )
      }
    >
      <Stack>
        {problems.length > 0 && (
          <Alert color="yellow">
            <List size="sm" listStyleType="none">
              {problems.map((problem) => (
                <List.Item key={problem}>{problem}</List.Item>
              ))}
            </List>
          </Alert>
        )}
        <Facts facts={factsOf(application)} />
        {isEditable && (
          <Group>
            {provider === 'github' && (
              <ActionButton refusal={refusal} variant={isStored ? 'default' : 'filled'} onClick={() => setOpen('app')}>
                {isStored ? 'Create another GitHub App' : 'Create GitHub App'}
              </ActionButton>
            )}
            <ActionButton
              refusal={refusal}
              variant={provider === 'github' || isStored ? 'default' : 'filled'}
              onClick={() => setOpen('oauth')}
            >
              {isStored ? 'Replace with an OAuth application' : 'Enter an OAuth application'}
            </ActionButton>
          </Group>
        )}
      </Stack>
      {open === 'app' && <CreateAppDialog application={application} onClose={close} />}
      {open === 'oauth' && <ApplicationDialog application={application} onClose={close} />}
      <ConfirmDialog
        isOpen={open === 'remove'}
        title={`Remove the ${name} application?`}
        action="Remove"
        isPending={remove.isPending}
        onConfirm={() => remove.mutate({ params: { provider } }, { onSettled: close })}
        onClose={close}
      >
        {endText(application, name)} Projects keep running. The application stays at {name} until you delete it there.
      </ConfirmDialog>
    </Section>
  )
}

function factsOf({ kind, url, appId, appSlug, appUrl, clientId, callbackUrl, ...more }: GitApplication): Fact[] {
  const host = <ExternalLink url={url} />
  if (kind === null) return [['Host', host]]
  return [
    ['Kind', kind === 'app' ? 'GitHub App' : 'OAuth application'],
    ['App', appUrl ? <ExternalLink url={appUrl}>{appSlug ?? appUrl}</ExternalLink> : appId],
    ['Host', host],
    ['Client id', clientId && <code className="mono">{clientId}</code>],
    ['Connected organisations', String(more.connectedOrganizations)],
    ['Webhook', kind === 'app' ? (more.hasWebhookSecret ? 'Through the app' : 'On each repository') : 'On each repository'],
    [
      'Callback address',
      <>
        <code className="mono wrap-anywhere">{callbackUrl}</code>{' '}
        <CopyText value={callbackUrl} label="Copy the callback address" />
      </>,
      'wide',
    ],
  ]
}
