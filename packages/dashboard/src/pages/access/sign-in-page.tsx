import { useNavigate, useRouterState } from '@tanstack/react-router'
import { AccessForm } from '../../components/access-form.tsx'
import { FrontPage } from '../../components/front-page.tsx'
import { useHealth, useSignIn } from '../../data/session.ts'
import { NotSetUp } from './not-set-up.tsx'

/** The sign-in form, at its own address or in place of the page that the visitor requested. */
export function SignInPage() {
  const signIn = useSignIn()
  const navigate = useNavigate()
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
        ]}
        submit="Sign in"
        pending={signIn.isPending}
        error={signIn.error}
        onSubmit={({ email = '', password = '' }) => signIn.mutate({ email, password }, { onSuccess })}
      />
    </FrontPage>
  )
}
