import { contract, type Project } from '@berth/contract'
import { Group, PasswordInput, Text } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { useChange } from '../../../data/change.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

/** The token for cloning a private repository. */
export function CloneCredentialSection({ project }: { project: Project }) {
  const params = { id: project.id }
  const [token, setToken] = useState('')
  const refusal = useProjectRefusal(project.id, 'admin')
  const credential = useRead(contract.projects.getCloneToken, { params })
  const set = useChange(contract.projects.setCloneToken, {
    refreshes: [contract.projects.getCloneToken],
    successMessage: 'Saved.',
  })
  const { hasToken, token: shown, setAt } = credential.data ?? {}
  return (
    <Section
      title="Clone credential"
      description="For a private repository that the connected git host cannot open: a token or deploy password. It is never shown again."
    >
      <Text size="sm" mb="sm">
        {hasToken ? (
          <>
            A credential is set (<span className="mono">{shown}</span>
            {setAt && (
              <>
                , <TimeAgo time={setAt} />
              </>
            )}
            ).
          </>
        ) : (
          'Not set.'
        )}
      </Text>
      <form onSubmit={submitting(() => set.mutate({ params, body: { token } }, { onSuccess: () => setToken('') }))}>
        <Group align="flex-end" gap="sm">
          <PasswordInput
            flex="1 1 14rem"
            label="New credential"
            required
            autoComplete="off"
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
          />
          <ActionButton type="submit" variant="default" refusal={refusal} loading={set.isPending}>
            Save
          </ActionButton>
          {hasToken && (
            <ActionButton
              variant="subtle"
              color="red"
              refusal={refusal}
              onClick={() => set.mutate({ params, body: { token: null } })}
            >
              Remove
            </ActionButton>
          )}
        </Group>
      </form>
    </Section>
  )
}
