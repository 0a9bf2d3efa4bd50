import { contract, type Project } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { Alert, Group, NativeSelect, NumberInput, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { CronInput } from '../../../components/cron-input.tsx'
import { RouterLink } from '../../../components/router-link.tsx'
import { Section } from '../../../components/section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal } from '../../../data/may.ts'
import { useRead } from '../../../data/read.ts'

export function AddPolicy({ project }: { project: Project }) {
  const refusal = useProjectRefusal(project.id, 'write')
  const destinations = useRead(contract.backups.listDestinations, { query: {} })
  const [chosen, setDestination] = useState('')
  const [cron, setCron] = useState('0 3 * * *')
  const [timezone, setTimezone] = useState(Intl.DateTimeFormat().resolvedOptions().timeZone)
  const [retainCount, setRetainCount] = useState<number | ''>(7)
  const [retainDays, setRetainDays] = useState<number | ''>('')
  const [beforeDeploy, setBeforeDeploy] = useState(false)
  const create = useChange(contract.backups.createPolicy, {
    refreshes: [contract.backups.listPolicies],
    says: 'The policy is made.',
  })
  const destinationId = chosen || destinations.data?.[0]?.id || ''
  const add = () =>
    create.mutate({
      params: { projectId: project.id },
      body: {
        destinationId,
        cronExpression: cron || null,
        timezone,
        retainCount: retainCount || null,
        retainDays: retainDays || null,
        beforeDeploy,
      },
    })
  const cronError = create.error instanceof ApiError && create.error.field === 'cronExpression' ? create.error.message : undefined
  if (destinations.data?.length === 0)
    return (
      <Alert color="harbour" title="First a destination">
        Backups go to a folder, an S3 bucket or an SFTP server.{' '}
        <RouterLink to="/backups" underline="always">
          Add a destination
        </RouterLink>
      </Alert>
    )
  const number = (value: number | string) => (typeof value === 'number' ? value : '')
  return (
    <Section
      title="Add a policy"
      description="All volumes and the databases that are found, compressed and encrypted to this instance's key."
    >
      <form onSubmit={submitting(add)}>
        <Stack>
          <NativeSelect
            label="Where to"
            value={destinationId}
            data={(destinations.data ?? []).map(({ id, name, kind }) => ({
              value: id,
              label: name === kind ? name : `${name} (${kind})`,
            }))}
            onChange={(event) => setDestination(event.currentTarget.value)}
          />
          <CronInput value={cron} timezone={timezone} onChange={setCron} error={cronError} />
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <TextInput label="Time zone" value={timezone} onChange={(event) => setTimezone(event.currentTarget.value)} />
            <NumberInput
              label="Keep the newest"
              min={1}
              max={10000}
              value={retainCount}
              onChange={(value) => setRetainCount(number(value))}
            />
            <NumberInput
              label="Keep for days"
              placeholder="no limit"
              min={1}
              value={retainDays}
              onChange={(value) => setRetainDays(number(value))}
            />
          </SimpleGrid>
          <Switch
            label="Also before each deployment, which goes on only when the backup succeeded"
            checked={beforeDeploy}
            onChange={(event) => setBeforeDeploy(event.currentTarget.checked)}
          />
          <Group justify="flex-end">
            <ActionButton type="submit" refusal={refusal} loading={create.isPending}>
              Add the policy
            </ActionButton>
          </Group>
        </Stack>
      </form>
    </Section>
  )
}
