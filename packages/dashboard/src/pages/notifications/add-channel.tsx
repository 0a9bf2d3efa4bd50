import { type ChannelKind, contract } from '@berth/contract'
import { Group, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { AddSection } from '../../components/add-section.tsx'
import { SecretOnce } from '../../components/secret-once.tsx'
import { submitting } from '../../components/submitting.ts'
import { useChange } from '../../data/change.ts'

const locations = {
  email: { label: 'E-mail address', field: 'address', type: 'email', placeholder: 'you@example.com' },
  webhook: { label: 'Address', field: 'url', type: 'url', placeholder: 'https://example.com/hook' },
  slack: {
    label: 'Incoming webhook URL',
    field: 'webhookUrl',
    type: 'url',
    placeholder: 'https://hooks.slack.com/services/…',
  },
  in_app: null,
} as const

const kinds = [
  { value: 'email', label: 'E-mail' },
  { value: 'webhook', label: 'Webhook' },
  { value: 'slack', label: 'Slack' },
  { value: 'in_app', label: 'In-app notifications' },
]

/** `isFirst`: the user has no channel outside the dashboard, so the form is open. */
export function AddChannel({ isFirst }: { isFirst: boolean }) {
  const [kind, setKind] = useState<ChannelKind>('email')
  const [label, setLabel] = useState('')
  const [target, setTarget] = useState('')
  const [secret, setSecret] = useState<string>()
  const create = useChange(contract.notifications.createChannel, {
    refreshes: [contract.notifications.listChannels],
    successMessage: ({ data }) => (data.verified ? 'Added.' : 'Added. Test it to verify it.'),
  })
  const location = locations[kind]
  const add = () =>
    create.mutate(
      { body: { kind, label, config: location ? { [location.field]: target } : {} } },
      {
        onSuccess: ({ data }) => {
          setLabel('')
          setTarget('')
          setSecret(data.secret)
        },
      },
    )
  return (
    <AddSection title="Add a channel" isFirst={isFirst} refusal={undefined}>
      <form onSubmit={submitting(add)}>
        <Group align="flex-end" gap="sm">
          <NativeSelect
            flex="1 1 9rem"
            label="Kind"
            data={kinds}
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value as ChannelKind)}
          />
          <TextInput
            flex="1 1 9rem"
            label="Label"
            required
            maxLength={100}
            value={label}
            onChange={(event) => setLabel(event.currentTarget.value)}
          />
          {location && (
            <TextInput
              flex="2 1 14rem"
              label={location.label}
              type={location.type}
              placeholder={location.placeholder}
              required
              value={target}
              onChange={(event) => setTarget(event.currentTarget.value)}
            />
          )}
          <ActionButton type="submit" loading={create.isPending}>
            Add
          </ActionButton>
        </Group>
      </form>
      <SecretOnce title="Webhook signing secret" secret={secret} onClose={() => setSecret(undefined)} />
    </AddSection>
  )
}
