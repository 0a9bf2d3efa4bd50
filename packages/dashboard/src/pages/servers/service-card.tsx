import type { DiscoveredService } from '@berth/contract'
import { Badge, Checkbox, Text } from '@mantine/core'
import { StatusBadge } from '../../components/status-badge.tsx'
import classes from './stack-picture.module.css'

interface Props {
  service: DiscoveredService
  isSelected: boolean
  onSelect(isSelected: boolean): void
}

export function ServiceCard({ service, isSelected, onSelect }: Props) {
  const { name, image, state, ports, volumes, adoptable, reason, drift } = service
  return (
    <div className={classes.service} data-selected={isSelected || undefined}>
      <Checkbox
        label={name}
        description={adoptable ? undefined : (reason ?? 'cannot be adopted')}
        disabled={!adoptable}
        checked={isSelected}
        onChange={(event) => onSelect(event.currentTarget.checked)}
      />
      <Text size="xs" c="dimmed" className="wrap-anywhere">
        {image}
      </Text>
      <StatusBadge status={state} tone={state === 'running' ? 'good' : 'idle'} />
      {drift.length > 0 && (
        <Badge size="sm" variant="light" color="yellow">
          differs in {drift.join(', ')}
        </Badge>
      )}
      {ports.length > 0 && (
        <Text size="xs">
          {ports.length === 1 ? 'port' : 'ports'}{' '}
          {ports.map(({ hostPort, containerPort }) => (hostPort ? `${hostPort}→${containerPort}` : containerPort)).join(', ')}
        </Text>
      )}
      {volumes.map(({ source, target }) => (
        <Text key={target} size="xs" className={`${classes.volume} wrap-anywhere`}>
          {source ?? 'a volume'} → {target}
        </Text>
      ))}
    </div>
  )
}
