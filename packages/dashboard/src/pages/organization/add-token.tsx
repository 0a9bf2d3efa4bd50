import { contract, type Permission } from '@berth/contract'
import { Alert, Checkbox, Group, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { AddSection } from '../../components/add-section.tsx'
import { SecretOnce } from '../../components/secret-once.tsx'
import { submitting } from '../../components/submitting.ts'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { useSession } from '../../data/session.ts'
import { permissionGroups, scopeHints } from '../../text/permission-text.ts'

const spans = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'a year' },
  { value: '', label: 'never' },
]

/** Creates an access token. Its scopes are chosen from the user's own permissions. */
export function AddToken({ isFirst }: { isFirst: boolean }) {
  const session = useSession().data
  const projects = useRead(contract.projects.home, {})
  const [name, setName] = useState('')
  const [days, setDays] = useState('90')
  const [projectId, setProjectId] = useState('')
  const [isNarrow, setNarrow] = useState(false)
  const [scopes, setScopes] = useState<string[]>([])
  const [secret, setSecret] = useState<string>()
  const create = useChange(contract.access.createToken, { refreshes: [contract.access.listTokens] })
  const add = () =>
    create.mutate(
      {
        body: {
          name,
          ...(isNarrow ? { scopes: scopes as Permission[] } : {}),
          ...(projectId ? { projectIds: [projectId] } : {}),
          ...(days ? { expiresInDays: Number(days) } : {}),
        },
      },
      {
        onSuccess: ({ data }) => {
          setName('')
          setSecret(data.token)
        },
      },
    )
  return (
    <AddSection isFirst={isFirst} refusal={undefined} title="Create a token">
      <form onSubmit={submitting(add)}>
        <Stack>
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <TextInput
              label="Name"
              placeholder="build machine"
              required
              maxLength={100}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <NativeSelect
              label="Expires after"
              data={spans}
              value={days}
              onChange={(event) => setDays(event.currentTarget.value)}
            />
            <NativeSelect
              label="Projects"
              value={projectId}
              data={[
                { value: '', label: 'All projects' },
                ...(projects.data ?? []).map((one) => ({ value: one.id, label: one.name })),
              ]}
              onChange={(event) => setProjectId(event.currentTarget.value)}
            />
          </SimpleGrid>
          <Checkbox label="Limit permissions" checked={isNarrow} onChange={(event) => setNarrow(event.currentTarget.checked)} />
          {isNarrow && (
            <>
              <Checkbox.Group label="Permissions" value={scopes} onChange={setScopes}>
                <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg" mt="xs">
                  {permissionGroups.map(({ title, scopes: offered }) => (
                    <Stack key={title} gap={6}>
                      <Text size="xs" fw={600}>
                        {title}
                      </Text>
                      {offered
                        .filter(([scope]) => session?.permissions.includes(scope))
                        .map(([scope, allows]) => (
                          <Checkbox
                            key={scope}
                            value={scope}
                            label={allows}
                            description={<span className="mono wrap-anywhere">{scope}</span>}
                          />
                        ))}
                    </Stack>
                  ))}
                </SimpleGrid>
              </Checkbox.Group>
              {scopeHints(scopes).map((hint) => (
                <Alert key={hint} color="yellow" role="status">
                  {hint}
                </Alert>
              ))}
            </>
          )}
          <Text size="xs" c="dimmed">
            A token never has more permissions than you have when it is used.
          </Text>
          <Group justify="flex-end">
            <ActionButton
              type="submit"
              loading={create.isPending}
              refusal={isNarrow && scopes.length === 0 ? 'Select at least one permission.' : undefined}
            >
              Create the token
            </ActionButton>
          </Group>
        </Stack>
      </form>
      <SecretOnce
        title="Your access token"
        secret={secret}
        onClose={() => setSecret(undefined)}
        use={() => `echo '<token>' | npx berth login ${window.location.origin} --token-stdin`}
      />
    </AddSection>
  )
}
