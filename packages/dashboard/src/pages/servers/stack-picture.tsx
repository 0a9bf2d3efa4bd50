import type { DiscoveredService, Stack } from '@berth/contract'
import { Badge, Button, Text, Title } from '@mantine/core'
import { adoptableNames, adoptionName } from '../../rules/adoption.ts'
import { ServiceCard } from './service-card.tsx'
import classes from './stack-picture.module.css'

interface Props {
  stack: Stack
  selected: ReadonlySet<string>
  onSelect(names: readonly string[], isSelected: boolean): void
}

const fileText = {
  read: 'file matches',
  missing: 'file is missing',
  unreadable: 'file is unreadable',
  drifted: 'differs from its file',
}

/** Stacks as boxes, services as cards in them, volumes below their services; drift is marked. */
export function StackPicture({ stack, selected, onSelect }: Props) {
  const group = (title: string, services: readonly DiscoveredService[], note?: string, isDrifted = false) => {
    const names = adoptableNames(services)
    return (
      <section key={title} className={classes.stack} aria-label={title}>
        <header>
          <Title order={3} size="h6" className="wrap-anywhere">
            {title}
          </Title>
          {note && (
            <Badge size="sm" variant={isDrifted ? 'light' : 'default'} color={isDrifted ? 'yellow' : undefined}>
              {note}
            </Badge>
          )}
          {names.length > 0 && (
            <Button
              size="compact-xs"
              variant="default"
              onClick={() =>
                onSelect(
                  names,
                  names.some((name) => !selected.has(name)),
                )
              }
            >
              {names.every((name) => selected.has(name)) ? 'Select none' : 'Select all'}
            </Button>
          )}
        </header>
        <div className={classes.services}>
          {services.map((service) => (
            <ServiceCard
              key={service.containerId ?? service.name}
              service={service}
              isSelected={selected.has(adoptionName(service))}
              onSelect={(isSelected) => onSelect([adoptionName(service)], isSelected)}
            />
          ))}
        </div>
      </section>
    )
  }
  const unused = stack.volumes.filter(({ usedBy }) => usedBy.length === 0)
  return (
    <div className={classes.picture}>
      {stack.composeProjects.map(({ name, services, fileState }) =>
        group(name, services, fileText[fileState], fileState !== 'read'),
      )}
      {stack.containers.length > 0 && group('Single containers', stack.containers)}
      {unused.length > 0 && (
        <Text size="sm" c="dimmed" className="wrap-anywhere">
          Volumes that nothing uses: {unused.map(({ name }) => name).join(', ')}
        </Text>
      )}
    </div>
  )
}
