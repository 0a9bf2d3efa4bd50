import { contract } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { Checkbox, PasswordInput, Stack } from '@mantine/core'
import { useState } from 'react'
import { SaveFooter } from '../../components/save-footer.tsx'
import { Section } from '../../components/section.tsx'
import { submitting } from '../../components/submitting.ts'
import { useChange } from '../../data/change.ts'
import { plural } from '../../text/sizes.ts'

const empty = { currentPassword: '', password: '', revokeTokens: false }

/** Changes the password, which ends the user's other sessions. */
export function PasswordSection() {
  const [values, setValues] = useState(empty)
  const change = useChange(contract.access.changePassword, {
    refreshes: [contract.access.listSessions, contract.access.listTokens],
    successMessage: ({ data }) => `Password changed. ${plural(data.endedSessions, 'other session')} ended.`,
    hidesErrorNotice: true,
  })
  const errorOf = (field: string) => {
    const { error } = change
    const isHere = error instanceof ApiError && error.field ? error.field === field : field === 'currentPassword'
    return error && isHere ? error.message : undefined
  }
  const isEmpty = !values.currentPassword || !values.password
  return (
    <form onSubmit={submitting(() => change.mutate({ body: values }, { onSuccess: () => setValues(empty) }))}>
      <Section
        title="Password"
        footer={
          <SaveFooter
            label="Change password"
            isPending={change.isPending}
            refusal={isEmpty ? 'Enter the current and the new password' : undefined}
          >
            Your other sessions end.
          </SaveFooter>
        }
      >
        <Stack maw={400}>
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            value={values.currentPassword}
            error={errorOf('currentPassword')}
            onChange={({ currentTarget: { value } }) => setValues((before) => ({ ...before, currentPassword: value }))}
          />
          <PasswordInput
            label="New password"
            description="At least 8 characters"
            autoComplete="new-password"
            value={values.password}
            error={errorOf('password')}
            onChange={({ currentTarget: { value } }) => setValues((before) => ({ ...before, password: value }))}
          />
          <Checkbox
            label="Also revoke my access tokens"
            description="In all organisations. Programs that use them lose access."
            checked={values.revokeTokens}
            onChange={({ currentTarget: { checked } }) => setValues((before) => ({ ...before, revokeTokens: checked }))}
          />
        </Stack>
      </Section>
    </form>
  )
}
