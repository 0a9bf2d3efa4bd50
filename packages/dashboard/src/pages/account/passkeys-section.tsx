import { contract, type Passkey } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { Alert, Button, Group, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { RowButton } from '../../components/row-button.tsx'
import { Section } from '../../components/section.tsx'
import { submitting } from '../../components/submitting.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { passkeyRefusal } from '../../data/passkey.ts'
import { useRead } from '../../data/read.ts'
import { useAddPasskey } from '../../data/session.ts'
import { useSecondFactor } from '../access/second-factor.ts'

/** The passkeys of the user, and the form that adds one. */
export function PasskeysSection() {
  const [isAdding, setAdding] = useState(false)
  const passkeys = useRead(contract.access.listPasskeys, { query: {} })
  const remove = useChange(contract.access.removePasskey, {
    refreshes: [contract.access.listPasskeys],
    successMessage: 'Passkey removed.',
  })
  const columns: Column<Passkey>[] = [
    { title: 'Name', isHeading: true, cell: ({ name }) => <span className="wrap-anywhere">{name}</span> },
    { title: 'Host name', isWide: true, cell: ({ hostname }) => hostname },
    { title: 'Added', isWide: true, cell: ({ createdAt }) => <TimeAgo time={createdAt} /> },
    { title: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt ? <TimeAgo time={lastUsedAt} /> : 'never') },
    {
      title: '',
      alignRight: true,
      cell: ({ id, name }) => (
        <RowButton aria-label={`Remove the passkey ${name}`} onClick={() => remove.mutate({ params: { id } })}>
          Remove
        </RowButton>
      ),
    },
  ]
  const refusal = passkeyRefusal()
  return (
    <>
      <Section
        title="Passkeys"
        description={refusal ?? 'Sign in with your fingerprint, face, PIN or a security key, without a password or a code.'}
        actions={
          !isAdding &&
          !refusal && (
            <Button variant="default" onClick={() => setAdding(true)}>
              Add a passkey
            </Button>
          )
        }
        isFlush
      >
        <Loaded query={passkeys}>
          {(rows) => rows.length > 0 && <DataTable label="Passkeys" rows={rows} keyOf={({ id }) => id} columns={columns} />}
        </Loaded>
      </Section>
      {isAdding && <PasskeyForm onClose={() => setAdding(false)} />}
    </>
  )
}

/** Asks for a name, the password and the second factor, then the browser asks for the device. */
function PasskeyForm({ onClose }: { onClose(): void }) {
  const [values, setValues] = useState({ name: '', currentPassword: '', code: '' })
  const add = useAddPasskey()
  const secondFactor = useSecondFactor()
  const error = secondFactor.errorToShow(add.error) ? add.error : null
  const wrongField = error instanceof ApiError ? error.field : undefined
  const isShownAtField = wrongField === 'currentPassword' || wrongField === 'code'
  const { code, ...rest } = values
  return (
    <Section title="Add a passkey">
      <form
        onSubmit={submitting(() => add.mutate(code ? values : rest, { onSuccess: onClose, onError: secondFactor.noteError }))}
      >
        <Stack maw={400}>
          <TextInput
            label="Name"
            description="For example the device: Laptop"
            required
            maxLength={100}
            value={values.name}
            onChange={({ currentTarget: { value } }) => setValues((before) => ({ ...before, name: value }))}
          />
          <PasswordInput
            label="Your password"
            required
            autoComplete="current-password"
            value={values.currentPassword}
            error={wrongField === 'currentPassword' ? error?.message : undefined}
            onChange={({ currentTarget: { value } }) => setValues((before) => ({ ...before, currentPassword: value }))}
          />
          {secondFactor.isNeeded && (
            <TextInput
              label="Code"
              description="The code of your authenticator app, or a recovery code"
              required
              autoComplete="one-time-code"
              value={code}
              error={wrongField === 'code' ? error?.message : undefined}
              onChange={({ currentTarget: { value } }) => setValues((before) => ({ ...before, code: value }))}
            />
          )}
          {error && !isShownAtField && (
            <Alert color="red" role="alert">
              {error.message}
            </Alert>
          )}
          <Group>
            <Button type="submit" loading={add.isPending}>
              Create passkey
            </Button>
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  )
}
