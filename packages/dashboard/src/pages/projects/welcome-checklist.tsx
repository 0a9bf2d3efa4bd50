import { contract } from '@berth/contract'
import { CloseButton } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { IconCircle, IconCircleCheckFilled } from '@tabler/icons-react'
import { PlainLink } from '../../components/plain-link.tsx'
import { useRead } from '../../data/read.ts'
import { useSession } from '../../data/session.ts'
import { checklist } from '../../rules/checklist.ts'
import classes from './welcome-checklist.module.css'

interface Props {
  /** The project whose domains the step for a domain opens. */
  projectId: string | undefined
  hasProject: boolean
  hasDomain: boolean
}

/** The first steps, for users who can do them all, until they are done or dismissed in this browser. */
export function WelcomeChecklist(props: Props) {
  const session = useSession().data
  const [isDismissed, setDismissed] = useLocalStorage({
    key: 'berth.welcome',
    defaultValue: false,
    getInitialValueInEffect: false,
  })
  const isShown = !isDismissed && (session?.role === 'owner' || session?.role === 'admin')
  return isShown ? <Steps {...props} onDismiss={() => setDismissed(true)} /> : null
}

function Steps({ projectId, hasProject, hasDomain, onDismiss }: Props & { onDismiss(): void }) {
  const destinations = useRead(contract.backups.listDestinations, { query: { limit: 1 } })
  const members = useRead(contract.access.listMembers, { query: { limit: 2 } })
  const invitations = useRead(contract.access.listInvitations, { query: { limit: 1 } })
  const isOperator = useSession().data?.operator ?? false
  const policy = useRead(contract.backups.getInstancePolicy, {}, { isEnabled: isOperator })
  if (!destinations.data || !members.data || !invitations.data || (isOperator && policy.data === undefined)) return null
  const items = checklist(
    {
      project: hasProject,
      domain: hasDomain,
      backup: destinations.data.length > 0,
      instance: isOperator ? policy.data !== null : null,
      member: members.data.length > 1 || invitations.data.length > 0,
    },
    projectId,
  )
  if (items.length === 0) return null
  return (
    <section className={classes.welcome} aria-label="First steps">
      <header className={classes.header}>
        <strong>First steps</strong>
        <span>
          {items.filter(({ isDone }) => isDone).length} of {items.length} done
        </span>
        <CloseButton size="sm" ml="auto" aria-label="Dismiss the first steps" onClick={onDismiss} />
      </header>
      <ol className={classes.steps}>
        {items.map(({ id, title, text, to, isDone }) => (
          <li key={id} data-done={isDone || undefined}>
            {isDone ? <IconCircleCheckFilled size={18} aria-label="Done" /> : <IconCircle size={18} stroke={1.6} aria-hidden />}
            <div>
              {isDone ? <span>{title}</span> : <PlainLink to={to}>{title}</PlainLink>}
              <small>{text}</small>
            </div>
          </li>
        ))}
      </ol>
    </section>
  )
}
