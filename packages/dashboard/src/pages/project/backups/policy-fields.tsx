import { contract } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { NativeSelect, NumberInput, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core'
import { CronInput } from '../../../components/cron-input.tsx'
import { useRead } from '../../../data/read.ts'
import type { PolicyForm } from '../../../rules/policy-form.ts'
import { PayloadFields } from './payload-fields.tsx'

interface Props {
  projectId: string
  form: PolicyForm
  onChange(form: PolicyForm): void
  /** The server's error, shown at its field. */
  error: unknown
  /** Names of the project's volumes, shown as examples. */
  volumes: readonly string[]
}

/** Fields of a policy: destination, schedule, retention and content. Used to create and to edit one. */
export function PolicyFields({ projectId, form, onChange, error, volumes }: Props) {
  const destinations = useRead(contract.backups.listDestinations, { query: { projectId } })
  const set = (change: Partial<PolicyForm>) => onChange({ ...form, ...change })
  const fieldError = (field: string) => (error instanceof ApiError && error.field === field ? error.message : undefined)
  const number = (name: 'retainCount' | 'retainDays' | 'proveEveryDays') => ({
    min: 1,
    value: form[name],
    error: fieldError(name),
    onChange: (value: number | string) => set({ [name]: typeof value === 'number' ? value : '' }),
  })
  return (
    <Stack>
      <NativeSelect
        label="Destination"
        value={form.destinationId}
        error={fieldError('destinationId')}
        data={(destinations.data ?? []).map(({ id, name, kind }) => ({
          value: id,
          label: name === kind ? name : `${name} (${kind})`,
        }))}
        onChange={(event) => set({ destinationId: event.currentTarget.value })}
      />
      <CronInput
        value={form.cron}
        timezone={form.timezone}
        onChange={(cron) => set({ cron })}
        error={fieldError('cronExpression')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          label="Time zone"
          required
          value={form.timezone}
          error={fieldError('timezone')}
          onChange={(event) => set({ timezone: event.currentTarget.value })}
        />
        <NumberInput label="Test restore every (days)" placeholder="never" max={365} {...number('proveEveryDays')} />
        <NumberInput
          label="Keep last (runs)"
          description="A run is kept if either rule keeps it."
          placeholder={form.retainDays === '' ? 'all' : 'by days only'}
          max={10_000}
          {...number('retainCount')}
        />
        <NumberInput
          label="Keep for (days)"
          description="Without a rule, every run is kept."
          placeholder={form.retainCount === '' ? 'for ever' : 'by number only'}
          max={36_500}
          {...number('retainDays')}
        />
      </SimpleGrid>
      <Switch
        label="Back up before each deployment; deploy only if the backup succeeds"
        checked={form.beforeDeploy}
        onChange={(event) => set({ beforeDeploy: event.currentTarget.checked })}
      />
      <PayloadFields form={form} set={set} volumes={volumes} />
    </Stack>
  )
}
