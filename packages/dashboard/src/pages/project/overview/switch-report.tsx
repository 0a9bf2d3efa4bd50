import type { Deployment } from '@berth/contract'
import { Text } from '@mantine/core'
import { Section } from '../../../components/section.tsx'
import { numberText, plural } from '../../../text/sizes.ts'

/** Requests that were dropped while traffic switched between versions. */
export function SwitchReport({ deployments }: { deployments: readonly Deployment[] }) {
  const switches = deployments.flatMap(({ requestsDuringSwitch }) => requestsDuringSwitch ?? [])
  if (switches.length === 0) return null
  const total = switches.reduce((sum, one) => sum + one.total, 0)
  const failed = switches.reduce((sum, one) => sum + one.failed, 0)
  return (
    <Section title="Dropped requests" description={`In the last ${plural(switches.length, 'switch', 'switches')}`}>
      <Text size="xl" fw={650}>
        {numberText(failed)}
      </Text>
      <Text size="sm" c="dimmed">
        {total === 0 ? 'no requests during version switches' : `of ${plural(total, 'request')} during version switches`}
      </Text>
    </Section>
  )
}
