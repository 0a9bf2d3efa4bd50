import { useNavigate, useSearch } from '@tanstack/react-router'
import { AccessForm } from '../../components/access-form.tsx'
import { FrontPage } from '../../components/front-page.tsx'
import { useCompleteSignUp } from '../../data/session.ts'

/** The page behind the link that a cloud sends by email to a new user. */
export function SignUpPage() {
  const { code, email: mailed } = useSearch({ strict: false }) as { code: string; email: string }
  const complete = useCompleteSignUp()
  const navigate = useNavigate()
  return (
    <FrontPage title="Create your account">
      <AccessForm
        fields={[
          { name: 'email', label: 'E-mail address', kind: 'email', autoComplete: 'username', initial: mailed },
          {
            name: 'password',
            label: 'Password',
            kind: 'password',
            autoComplete: 'new-password',
            description: 'At least 8 characters',
          },
          { name: 'organization', label: 'Organisation', autoComplete: 'organization' },
        ]}
        submit="Sign up"
        pending={complete.isPending}
        error={complete.error}
        onSubmit={({ email = '', password = '', organization = '' }) =>
          complete.mutate({ code, email, password, organization }, { onSuccess: () => navigate({ to: '/' }) })
        }
      />
    </FrontPage>
  )
}
