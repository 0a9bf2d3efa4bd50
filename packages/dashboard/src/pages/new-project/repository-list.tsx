import type { Repository } from '@berth/contract'
import { Badge, Button, Text } from '@mantine/core'
import { TimeAgo } from '../../components/time-ago.tsx'
import classes from './repository-list.module.css'

interface Props {
  repositories: readonly Repository[]
  search: string
  onPick(repository: Repository): void
}

const maxShown = 50

export function RepositoryList({ repositories, search, onPick }: Props) {
  const found = repositories.filter(({ fullName }) => fullName.toLowerCase().includes(search.toLowerCase()))
  if (found.length === 0) return <Text c="dimmed">No matching repositories.</Text>
  return (
    <ul className={classes.list} aria-label="Repositories">
      {found.slice(0, maxShown).map((repository) => (
        <li key={repository.id}>
          <div className={classes.text}>
            <span className="wrap-anywhere">{repository.fullName}</span>{' '}
            {repository.private && (
              <Badge size="xs" variant="default">
                private
              </Badge>
            )}
            <Text size="xs" c="dimmed">
              {describe(repository)}
              {describe(repository) && repository.updatedAt && ' · '}
              {repository.updatedAt && <TimeAgo time={repository.updatedAt} />}
            </Text>
          </div>
          <Button size="xs" variant="default" onClick={() => onPick(repository)} aria-label={`Choose ${repository.fullName}`}>
            Choose
          </Button>
        </li>
      ))}
      {found.length > maxShown && <li>and {found.length - maxShown} more: search for yours</li>}
    </ul>
  )
}

const describe = ({ language, description }: Repository) => [language, description].filter(Boolean).join(' · ')
