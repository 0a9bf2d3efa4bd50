import { contract, type InstanceBackup, type InstanceBackupContent } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { columns, minute, minuteUtc, output } from '../../output.ts'
import { byteSize } from '../../quantities.ts'
import { allDestinations, findDestination } from './destinations.ts'

interface ScheduleOptions {
  destination: string
  schedule?: string
  timezone?: string
  keep?: string
  databaseOnly?: boolean
}

interface RunOptions {
  destination?: string
  databaseOnly?: boolean
  wait: boolean
}

const pollMs = 1_000

/** `berth backups instance …`: backups of the instance itself, for operators. */
export function addInstanceBackups(backups: Command): void {
  const instance = backups.command('instance').description('back up the instance itself, for operators')
  instance
    .command('list', { isDefault: true })
    .description('show the schedule and the backups of the instance, newest first')
    .action((_options, command: Command) => show(command))
  instance
    .command('schedule')
    .description('back up the instance on a schedule; replaces the schedule that exists')
    .requiredOption('--destination <destination>', 'id or name of the destination')
    .option('--schedule <cron>', 'five-field cron expression or @daily (default: 0 2 * * *)')
    .option('--timezone <name>', 'time zone of the schedule, for example Europe/Vienna (default: UTC)')
    .option('--keep <count>', 'number of backups to keep (default: 7)')
    .option('--database-only', 'only the database and the keys, without volumes, sources and logs of projects')
    .action(async (options: ScheduleOptions, command: Command) => {
      const destination = await findDestination(options.destination, command)
      const { id: destinationId, name } = destination
      const { schedule, timezone, keep, databaseOnly } = options
      const body = {
        destinationId,
        ...(schedule ? { cronExpression: schedule } : {}),
        ...(timezone ? { timezone } : {}),
        ...(keep === undefined ? {} : { retainCount: Number(keep) }),
        content: contentOf(databaseOnly),
      }
      const { data } = await connect(command).call(contract.backups.saveInstancePolicy, { body })
      output(command).result(
        data,
        () =>
          `The instance is backed up to ${name}, next at ${data.nextRunAt ? minuteUtc(data.nextRunAt) : 'no time'}. ` +
          'Keep a copy of backup.key from the data folder on another machine: without it no backup can be restored.',
      )
      if (destination.kind === 'local') output(command).warning(sameMachineWarning)
    })
  instance
    .command('unschedule')
    .description('end the schedule; the backups stay stored')
    .action(async (_options, command: Command) => {
      await connect(command).call(contract.backups.removeInstancePolicy, {})
      output(command).result({ removed: true }, () => 'The instance is no longer backed up. Its backups stay stored.')
    })
  instance
    .command('run')
    .description('back up the instance now')
    .option('--destination <destination>', 'id or name of the destination (default: that of the schedule)')
    .option('--database-only', 'only the database and the keys, without volumes, sources and logs of projects')
    .option('--no-wait', 'return at once')
    .action((options: RunOptions, command: Command) => run(options, command))
}

const sameMachineWarning =
  'The destination is a folder on the machine of the instance: if the machine is lost, so is the backup. Prefer S3 or SFTP.'

const contentOf = (databaseOnly: boolean | undefined): InstanceBackupContent => (databaseOnly ? 'database' : 'everything')

async function run({ destination, databaseOnly, wait }: RunOptions, command: Command): Promise<void> {
  const client = connect(command)
  if (destination === undefined && !(await client.call(contract.backups.getInstancePolicy, {})).data)
    throw new CliError('The instance has no backup schedule. Name a destination with --destination.', 2)
  const body = {
    ...(destination === undefined ? {} : { destinationId: (await findDestination(destination, command)).id }),
    ...(databaseOnly ? { content: contentOf(databaseOnly) } : {}),
  }
  const { data: started } = await client.call(contract.backups.startInstanceBackup, { body })
  output(command).note(`backup ${started.id} started`)
  const backup = wait ? await ended(started, command) : started
  if (backup.status === 'failed') throw new CliError(`Backup ${backup.id} failed: ${backup.error?.message ?? 'no reason'}`, 1)
  output(command).result(backup, () =>
    backup.status === 'succeeded'
      ? `backup ${backup.id} is stored as ${backup.objectName} (${byteSize(backup.sizeBytes ?? 0)}), read back and compared`
      : `backup ${backup.id} ${backup.status}`,
  )
}

async function ended(started: InstanceBackup, command: Command): Promise<InstanceBackup> {
  const client = connect(command)
  for (let backup = started; ; ) {
    if (backup.status === 'succeeded' || backup.status === 'failed') return backup
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    const { data } = await client.call(contract.backups.listInstanceBackups, { query: { limit: 20 } })
    backup = data.find(({ id }) => id === started.id) ?? backup
  }
}

async function show(command: Command): Promise<void> {
  const client = connect(command)
  const { data: schedule } = await client.call(contract.backups.getInstancePolicy, {})
  const { data: backups } = await client.call(contract.backups.listInstanceBackups, {})
  const destinations = schedule ? await allDestinations(command) : []
  const destination = destinations.find(({ id }) => id === schedule?.destinationId)?.name ?? schedule?.destinationId
  const rows = backups.map((backup) => [
    backup.id,
    backup.status,
    backup.trigger,
    minute(backup.finishedAt ?? backup.createdAt),
    backup.sizeBytes === null ? '-' : byteSize(backup.sizeBytes),
    backup.error?.message ?? backup.objectName,
  ])
  output(command).result({ schedule, backups }, () =>
    [
      schedule
        ? `${schedule.cronExpression} (${schedule.timezone}) to ${destination}, keeps ${schedule.retainCount}, next ${schedule.nextRunAt ? minuteUtc(schedule.nextRunAt) : '-'}`
        : 'The instance is not backed up. Add a schedule with `berth backups instance schedule`.',
      ...(rows.length > 0 ? [columns([['ID', 'STATUS', 'TRIGGER', 'WHEN', 'SIZE', 'OBJECT'], ...rows])] : []),
    ].join('\n'),
  )
}
