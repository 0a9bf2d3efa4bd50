import { AccessForm } from '../../components/access-form.tsx'
import { FrontPage } from '../../components/front-page.tsx'
import { useSignIn } from '../../queries/access.ts'

export function SignInPage() {
  const signIn = useSignIn()
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
        onSubmit={({ email = '', password = '' }) => signIn.mutate({ email, password })}
      />
    </FrontPage>
  )
}
