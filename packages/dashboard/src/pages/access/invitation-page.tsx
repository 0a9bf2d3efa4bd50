import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { AccessForm } from '../../components/access-form.tsx'
import { FrontPage } from '../../components/front-page.tsx'
import { useAcceptInvitation } from '../../data/session.ts'
import { secondFactorField, useSecondFactor } from './second-factor.ts'

/** Accepts an invitation, which contains the link to this page. */
export function InvitationPage() {
  const { code } = useParams({ strict: false }) as { code: string }
  const { email: invited } = useSearch({ strict: false }) as { email: string }
  const accept = useAcceptInvitation()
  const navigate = useNavigate()
  const secondFactor = useSecondFactor()
  return (
    <FrontPage title="Join the organisation">
      <AccessForm
        fields={[
          { name: 'email', label: 'E-mail address', kind: 'email', autoComplete: 'username', initial: invited },
          { name: 'name', label: 'Your name', autoComplete: 'name', isOptional: true },
          {
            name: 'password',
            label: 'Password',
            kind: 'password',
            autoComplete: 'current-password',
            description: 'Your password if you already have an account; otherwise choose one with at least 8 characters',
          },
          ...(secondFactor.isNeeded ? [secondFactorField('secondFactor')] : []),
        ]}
        submit="Join"
        pending={accept.isPending}
        error={secondFactor.errorToShow(accept.error)}
        onSubmit={({ email = '', password = '', name, secondFactor: typed }) =>
          accept.mutate(
            { code, email, password, ...(name ? { name } : {}), ...(typed ? { secondFactor: typed } : {}) },
            { onSuccess: () => navigate({ to: '/' }), onError: secondFactor.noteError },
          )
        }
      />
    </FrontPage>
  )
}
