import { NativeSelect, SimpleGrid, Text, TextInput } from '@mantine/core'
import { useNow } from '../data/now.ts'
import { readCron, schedules, timeInZone } from '../rules/cron-text.ts'

interface Props {
  value: string
  timezone: string
  onChange(value: string): void
  error?: string | undefined
}

/** An input for a schedule, with the next five times. */
export function CronInput({ value, timezone, onChange, error }: Props) {
  const now = useNow()
  const { next, problem } = readCron(value, timezone, new Date(now))
  const isCommon = schedules.some((one) => one.value === value)
  return (
    <div>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <NativeSelect
          label="Schedule"
          value={isCommon ? value : value ? 'own' : ''}
          data={[{ value: '', label: 'Manual only' }, ...schedules, { value: 'own', label: 'Custom schedule' }]}
          onChange={(event) => onChange(event.currentTarget.value === 'own' ? '30 2 * * 1-5' : event.currentTarget.value)}
        />
        <TextInput
          label="Cron expression"
          placeholder="minute hour day month weekday"
          classNames={{ input: 'mono' }}
          value={value}
          error={error ?? problem ?? undefined}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      </SimpleGrid>
      {next.length > 0 && (
        <Text size="sm" c="dimmed" mt="xs" component="div">
          Next: {next.map((time) => timeInZone(time, timezone)).join(' · ')} ({timezone})
        </Text>
      )}
    </div>
  )
}
