import { Alert, Button, Text } from '@mantine/core'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import { AccessForm } from '../../components/access-form.tsx'
import { FrontPage } from '../../components/front-page.tsx'
import { RouterLink } from '../../components/router-link.tsx'
import { passkeyRefusal } from '../../data/passkey.ts'
import { useHealth, useSignIn, useSignInWithPasskey } from '../../data/session.ts'
import { NotSetUp } from './not-set-up.tsx'
import { secondFactorField, useSecondFactor } from './second-factor.ts'

/** The sign-in form, at its own address or in place of the page that the visitor requested. */
export function SignInPage() {
  const signIn = useSignIn()
  const passkey = useSignInWithPasskey()
  const navigate = useNavigate()
  const secondFactor = useSecondFactor()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const onSuccess = () => path === '/sign-in' && void navigate({ to: '/' })
  const health = useHealth()
  if (health.data?.setUp === false) return <NotSetUp />
  return (
    <FrontPage title="Sign in">
      <AccessForm
        fields={[
          { name: 'email', label: 'E-mail address', kind: 'email', autoComplete: 'username' },
          { name: 'password', label: 'Password', kind: 'password', autoComplete: 'current-password' },
          ...(secondFactor.isNeeded ? [secondFactorField('code')] : []),
        ]}
        submit="Sign in"
        pending={signIn.isPending}
        error={secondFactor.errorToShow(signIn.error)}
        onSubmit={({ email = '', password = '', code }) =>
          signIn.mutate({ email, password, ...(code ? { code } : {}) }, { onSuccess, onError: secondFactor.noteError })
        }
      />
      {!passkeyRefusal() && (
        <Button
          variant="default"
          fullWidth
          mt="sm"
          loading={passkey.isPending}
          onClick={() => passkey.mutate(undefined, { onSuccess })}
        >
          Use a passkey
        </Button>
      )}
      {passkey.error && (
        <Alert color="red" role="alert" mt="sm">
          {passkey.error.message}
        </Alert>
      )}
      <Text size="sm" mt="md">
        <RouterLink to="/reset-password">Forgot your password?</RouterLink>
      </Text>
    </FrontPage>
  )
}
