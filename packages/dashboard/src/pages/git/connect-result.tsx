import { type ConnectError, connectErrors, type GitHostStatus } from '@berth/contract'
import { Alert } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'

interface Props {
  /** Name of the git host that the browser returned from with a connection. */
  connected: string | undefined
  error: string | undefined
  status: GitHostStatus
}

const errorTexts: Record<ConnectError, string> = {
  expired: 'The link is older than ten minutes or was already used. Connect again.',
  denied: 'The git host reports that the request was denied. Connect again and approve it there.',
  other_user: 'Another user or another browser started this connection. Connect again from here.',
  forbidden: 'The user who started this cannot connect a git host for the organisation. Ask an owner or admin.',
  incomplete: 'The git host returned an incomplete response. Connect again.',
  waiting_for_owner: 'An owner of the account must approve the app at the git host first. Then connect again.',
  not_owner: 'Only an owner of the account at the git host can connect it. Ask an owner to do it.',
  rejected: 'The git host rejected the login. Connect again. If it fails again, check the application settings below.',
  unreachable: 'The git host did not answer. Check that it can be reached from this instance, then connect again.',
  limited: 'The rate limit of the git host is used up. Try again later.',
}

const isKnown = (error: string): error is ConnectError => (connectErrors as readonly string[]).includes(error)

/** The result of a visit to the git host: the connected accounts, or why nothing was connected. */
export function ConnectResult({ connected, error, status }: Props) {
  const navigate = useNavigate()
  const close = { withCloseButton: true, closeButtonLabel: 'Close', onClose: () => void navigate({ to: '/git', replace: true }) }
  if (error)
    return (
      <Alert color="red" role="alert" title="Not connected" {...close}>
        {isKnown(error) ? errorTexts[error] : 'The git host could not be connected. Try again.'}
      </Alert>
    )
  const logins = status.accounts.map(({ login }) => login).join(', ')
  return (
    <Alert color="green" role="status" title={`${connected} is connected${logins ? `: ${logins}` : ''}`} {...close}>
      {logins
        ? 'Choose a repository below to deploy it.'
        : 'It was connected for another organisation. Switch to that organisation to use it.'}
    </Alert>
  )
}
