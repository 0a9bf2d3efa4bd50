import { contract, type Stack as ScannedStack } from '@berth/contract'
import { Alert, Text } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { ErrorState } from '../../components/error-state.tsx'
import { Section } from '../../components/section.tsx'
import { useChange } from '../../data/change.ts'
import { useRefusal } from '../../data/refusal.ts'
import { plural } from '../../text/sizes.ts'
import { AdoptForm } from './adopt-form.tsx'
import { StackPicture } from './stack-picture.tsx'

/** Shows the containers in the server's Docker as a diagram, to select those to adopt. */
export function ScanSection({ serverId }: { serverId: string }) {
  const [stack, setStack] = useState<ScannedStack>()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const refusal = useRefusal('server:write')
  const scan = useChange(contract.migration.scan, { hidesErrorNotice: true })
  const check = () =>
    scan.mutate(
      { body: { serverId } },
      {
        onSuccess: (reply) => {
          setStack(reply.stack)
          setSelected(new Set())
        },
      },
    )
  const toggle = (names: readonly string[], isSelected: boolean) => {
    const next = new Set(selected)
    for (const name of names) isSelected ? next.add(name) : next.delete(name)
    setSelected(next)
  }
  return (
    <>
      <Section
        title="Running services"
        description="Scans Compose stacks and containers over SSH and compares them with the Compose files on disk. Changes nothing."
        actions={
          <ActionButton refusal={refusal} loading={scan.isPending} onClick={check}>
            {stack ? 'Scan again' : 'Scan'}
          </ActionButton>
        }
      >
        {scan.error && <ErrorState error={scan.error} onRetry={check} />}
        {stack && (
          <>
            <Text size="sm" c="dimmed" mb="md">
              Docker {stack.docker.version}: {plural(stack.summary.composeProjects, 'stack')},{' '}
              {plural(stack.summary.services, 'service')}, {plural(stack.summary.containers, 'single container')},{' '}
              {plural(stack.summary.volumes, 'volume')}; {plural(stack.summary.adoptable, 'service')} can be adopted
            </Text>
            {stack.warnings.length > 0 && (
              <Alert color="yellow" mb="md">
                {stack.warnings.join(' · ')}
              </Alert>
            )}
            <StackPicture stack={stack} selected={selected} onSelect={toggle} />
          </>
        )}
      </Section>
      {selected.size > 0 && <AdoptForm serverId={serverId} serviceNames={[...selected]} />}
    </>
  )
}
