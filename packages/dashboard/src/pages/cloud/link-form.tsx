import { contract } from '@berth/contract'
import { Group, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { ErrorState } from '../../components/error-state.tsx'
import { Section } from '../../components/section.tsx'
import { submitting } from '../../components/submitting.ts'
import { useChange } from '../../data/change.ts'
import { useRefusal } from '../../data/refusal.ts'

export function LinkForm() {
  const [url, setUrl] = useState('')
  const [token, setToken] = useState('')
  const refusal = useRefusal('cloud:admin')
  const link = useChange(contract.cloud.link, {
    refreshes: [contract.cloud.getLink, contract.projects.home],
    hidesErrorNotice: true,
    successMessage: 'Linked.',
  })
  return (
    <Section
      title="Link this instance"
      description="Create an access token in the dashboard of the cloud, under Access tokens, and paste it here."
    >
      <form onSubmit={submitting(() => link.mutate({ body: { url, token } }))}>
        <Stack>
          <TextInput
            label="URL of the cloud"
            type="url"
            placeholder="https://cloud.example.com"
            required
            value={url}
            onChange={(event) => setUrl(event.currentTarget.value)}
          />
          <PasswordInput
            label="Access token"
            autoComplete="off"
            required
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
          />
          {link.error && <ErrorState error={link.error} />}
          <Group justify="flex-end">
            <ActionButton type="submit" refusal={refusal} loading={link.isPending}>
              Link
            </ActionButton>
          </Group>
        </Stack>
      </form>
    </Section>
  )
}
