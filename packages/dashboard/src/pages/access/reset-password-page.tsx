import { contract } from '@berth/contract'
import { Text } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import { AccessForm } from '../../components/access-form.tsx'
import { FrontPage } from '../../components/front-page.tsx'
import { RouterLink } from '../../components/router-link.tsx'
import { useChange } from '../../data/change.ts'

/** Requests a link by e-mail; with the code of the link it sets a new password. */
export function ResetPasswordPage() {
  const { code } = useSearch({ strict: false }) as { code: string }
  return (
    <FrontPage title="Reset your password">
      {code ? <NewPassword code={code} /> : <RequestLink />}
      <Text size="sm" mt="md">
        <RouterLink to="/sign-in">Back to sign in</RouterLink>
      </Text>
    </FrontPage>
  )
}

function RequestLink() {
  const request = useChange(contract.access.requestPasswordReset, { hidesErrorNotice: true })
  if (request.data)
    return <Text>If {request.data.data.email} has an account, a link is on its way. It works once, within 30 minutes.</Text>
  return (
    <AccessForm
      fields={[{ name: 'email', label: 'E-mail address', kind: 'email', autoComplete: 'username' }]}
      submit="Send a link"
      pending={request.isPending}
      error={request.error}
      onSubmit={({ email = '' }) => request.mutate({ body: { email } })}
    />
  )
}

function NewPassword({ code }: { code: string }) {
  const reset = useChange(contract.access.resetPassword, { hidesErrorNotice: true })
  if (reset.data) return <Text>The password was changed. Sign in with the new one.</Text>
  return (
    <AccessForm
      fields={[
        {
          name: 'password',
          label: 'New password',
          kind: 'password',
          autoComplete: 'new-password',
          description: 'At least 8 characters',
        },
      ]}
      submit="Change password"
      pending={reset.isPending}
      error={reset.error}
      onSubmit={({ password = '' }) => reset.mutate({ body: { code, password } })}
    />
  )
}
