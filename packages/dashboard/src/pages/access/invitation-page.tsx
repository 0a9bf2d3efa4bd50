import { useNavigate, useSearch } from '@tanstack/react-router'
import { AccessForm } from '../../components/access-form.tsx'
import { FrontPage } from '../../components/front-page.tsx'
import { useAcceptInvitation } from '../../queries/access.ts'

/** Reached by the link of an invitation. */
export function InvitationPage() {
  const { code, email: invited } = useSearch({ strict: false }) as { code: string; email: string }
  const accept = useAcceptInvitation()
  const navigate = useNavigate()
  return (
    <FrontPage title="Join the organisation">
      <AccessForm
        fields={[
          { name: 'email', label: 'E-mail address', kind: 'email', autoComplete: 'username', initial: invited },
          {
            name: 'password',
            label: 'Password',
            kind: 'password',
            autoComplete: 'current-password',
            description: 'Yours, if you have an account here; else choose one',
          },
        ]}
        submit="Join"
        pending={accept.isPending}
        error={accept.error}
        onSubmit={({ email = '', password = '' }) =>
          accept.mutate({ code, email, password }, { onSuccess: () => navigate({ to: '/' }) })
        }
      />
    </FrontPage>
  )
}
