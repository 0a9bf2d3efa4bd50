import { contract, type GitApplication } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { Alert, Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { CopyText } from '../../components/copy-text.tsx'
import { ErrorState } from '../../components/error-state.tsx'
import { submitting } from '../../components/submitting.ts'
import { useChange } from '../../data/change.ts'
import { endText } from './end-text.ts'
import { providerNames } from './provider-names.ts'

interface Props {
  application: GitApplication
  onClose(): void
}

const places = {
  github: 'Settings → Developer settings → OAuth Apps',
  gitlab: 'Preferences → Applications, with the scope api',
  gitea: 'Settings → Applications → Manage OAuth2 applications, as a confidential client',
}

/** Enters the OAuth application of a git host. */
export function ApplicationDialog({ application, onClose }: Props) {
  const { provider, callbackUrl, isStored } = application
  const [url, setUrl] = useState(application.url)
  const [clientId, setClientId] = useState('')
  const [clientSecret, setClientSecret] = useState('')
  const save = useChange(contract.gitHost.saveApplication, {
    hidesErrorNotice: true,
    refreshes: [contract.gitHost.listApplications, contract.gitHost.status, contract.gitHost.home],
    successMessage: 'Application stored. It is used from now on.',
  })
  const name = providerNames[provider]
  const errorOf = (field: string) => (save.error instanceof ApiError && save.error.field === field ? save.error.message : null)
  const isGitHub = provider === 'github'
  const body = { clientId: clientId.trim(), clientSecret: clientSecret.trim(), ...(isGitHub ? {} : { url: url.trim() }) }
  return (
    <Modal
      opened
      onClose={onClose}
      title={`OAuth application at ${name}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
      closeOnClickOutside={false}
    >
      <form onSubmit={submitting(() => save.mutate({ params: { provider }, body }, { onSuccess: onClose }))}>
        <Stack>
          <Text size="sm">
            Create it at {name} under {places[provider]}. Its callback address is{' '}
            <code className="wrap-anywhere">{callbackUrl}</code>{' '}
            <CopyText value={callbackUrl} label="Copy the callback address" />
          </Text>
          {isStored && <Alert color="yellow">{endText(application, name)}</Alert>}
          {!isGitHub && (
            <TextInput
              label="Address of the host"
              value={url}
              onChange={(event) => setUrl(event.currentTarget.value)}
              error={errorOf('url')}
              required
            />
          )}
          <TextInput
            label="Client id"
            value={clientId}
            onChange={(event) => setClientId(event.currentTarget.value)}
            error={errorOf('clientId')}
            autoComplete="off"
            required
          />
          <PasswordInput
            label="Client secret"
            value={clientSecret}
            onChange={(event) => setClientSecret(event.currentTarget.value)}
            error={errorOf('clientSecret')}
            autoComplete="off"
            required
          />
          {save.error && <ErrorState error={save.error} />}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
