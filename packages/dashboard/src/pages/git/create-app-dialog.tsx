import { type AppManifest, contract, type GitApplication } from '@berth/contract'
import { Alert, Button, Checkbox, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ErrorState } from '../../components/error-state.tsx'
import { submitting } from '../../components/submitting.ts'
import { useChange } from '../../data/change.ts'
import { endText } from './end-text.ts'

interface Props {
  application: GitApplication
  onClose(): void
}

/** Creates a GitHub App: the browser sends its manifest to GitHub, which returns here. */
export function CreateAppDialog({ application, onClose }: Props) {
  const [organization, setOrganization] = useState('')
  const [isPublic, setPublic] = useState(false)
  const start = useChange(contract.gitHost.startManifest, { hidesErrorNotice: true })
  const owner = organization.trim()
  const body = { public: isPublic, ...(owner ? { organization: owner } : {}) }
  const { host } = new URL(application.url)
  return (
    <Modal
      opened
      onClose={onClose}
      title="Create GitHub App"
      closeButtonProps={{ 'aria-label': 'Close' }}
      closeOnClickOutside={false}
    >
      <form onSubmit={submitting(() => start.mutate({ body }, { onSuccess: ({ data }) => sendManifest(data) }))}>
        <Stack>
          <Text size="sm">
            {host} shows the app and asks you to create it. Then you choose the repositories it is installed on, and return here.
            Berth stores the app's settings encrypted. No restart is needed.
          </Text>
          {application.isStored && <Alert color="yellow">{endText(application, 'GitHub')}</Alert>}
          <TextInput
            label="Organisation at GitHub"
            description="The account that owns the app. Leave it empty for your own account."
            value={organization}
            onChange={(event) => setOrganization(event.currentTarget.value)}
            autoComplete="off"
          />
          <Checkbox
            label="Other accounts can install the app"
            description="Choose this if repositories of several accounts or organisations are deployed."
            checked={isPublic}
            onChange={(event) => setPublic(event.currentTarget.checked)}
          />
          {start.error && <ErrorState error={start.error} />}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={start.isPending || start.isSuccess}>
              Continue at {host}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

/** GitHub takes the manifest only as a form that the user's browser sends. */
function sendManifest({ url, manifest }: AppManifest): void {
  const form = Object.assign(document.createElement('form'), { method: 'post', action: url, hidden: true })
  form.append(Object.assign(document.createElement('input'), { type: 'hidden', name: 'manifest', value: manifest }))
  document.body.append(form)
  form.submit()
}
