import { useNavigate, useSearch } from '@tanstack/react-router'
import { AccessForm } from '../../components/access-form.tsx'
import { FrontPage } from '../../components/front-page.tsx'
import { useSetup } from '../../data/session.ts'

/** Creates the first user. A new instance prints the one-time link to this page. */
export function SetupPage() {
  const { code } = useSearch({ strict: false }) as { code: string }
  const setup = useSetup()
  const navigate = useNavigate()
  return (
    <FrontPage title="Set up this instance">
      <AccessForm
        fields={[
          {
            name: 'organization',
            label: 'Organisation',
            autoComplete: 'organization',
            description: 'A name for you or your team',
          },
          { name: 'email', label: 'Your e-mail address', kind: 'email', autoComplete: 'username' },
          {
            name: 'password',
            label: 'Password',
            kind: 'password',
            autoComplete: 'new-password',
            description: 'At least 8 characters',
          },
        ]}
        submit="Create your account"
        pending={setup.isPending}
        error={setup.error}
        onSubmit={({ email = '', password = '', organization = '' }) =>
          setup.mutate({ code, email, password, organization }, { onSuccess: () => navigate({ to: '/' }) })
        }
      />
    </FrontPage>
  )
}
