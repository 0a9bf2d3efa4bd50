import { contract, type PolicyBody } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { columns, minute, minuteUtc, output } from '../../output.ts'
import { projectIdOf, projectOption } from '../../project-link.ts'
import { findDestination } from './destinations.ts'
import { runPolicy } from './run-policy.ts'

interface AddOptions {
  destination: string
  schedule?: string
  timezone?: string
  keep?: string
  keepDays?: string
  volumes?: string
  exclude?: string[]
  databases?: boolean
  beforeDeploy?: boolean
  proveEvery?: string
}

/** `berth backups policies …`: what is backed up, when and where to. */
export function addPolicies(backups: Command): void {
  const policies = backups.command('policies').description('list, add, run and remove backup policies of a project')
  policies
    .command('list', { isDefault: true })
    .description('list the policies of a project with their schedule and last run')
    .option(...projectOption)
    .action((_options, command: Command) => showPolicies(command))
  addAdd(policies)
  policies
    .command('run [policy]')
    .description('run a backup now with this policy (default: the only policy of the project)')
    .option(...projectOption)
    .action((policy: string | undefined, _options, command: Command) => runPolicy(policy, command))
  policies
    .command('remove <policy>')
    .description('remove a policy; its runs stay')
    .action(async (policyId: string, _options, command: Command) => {
      await connect(command).call(contract.backups.deletePolicy, { params: { policyId } })
      output(command).result({ removed: policyId }, () => `removed policy ${policyId}; its runs stay`)
    })
}

function addAdd(policies: Command): void {
  policies
    .command('add')
    .description('back up the project to a destination')
    .requiredOption('--destination <destination>', 'id or name of the destination')
    .option('--schedule <cron>', 'five-field cron expression or @daily (default: no schedule, run it yourself)')
    .option('--timezone <name>', 'time zone of the schedule, for example Europe/Vienna')
    .option('--keep <count>', 'number of runs to keep (default: 7)')
    .option('--keep-days <days>', 'days to keep a run')
    .option('--volumes <names>', 'only these volumes, comma-separated (default: all)')
    .option('--exclude <pattern...>', 'paths to leave out, as in .gitignore')
    .option('--no-databases', 'do not dump databases')
    .option('--before-deploy', 'run it before every deployment')
    .option('--prove-every <days>', 'days between test restores of the newest run (default: no test restores)')
    .option(...projectOption)
    .action(async (options: AddOptions, command: Command) => {
      const params = { projectId: projectIdOf(command) }
      const { id: destinationId, name } = await findDestination(options.destination, command)
      const { data } = await connect(command).call(contract.backups.createPolicy, {
        params,
        body: bodyOf(destinationId, options),
      })
      const next = data.nextRunAt ? `next run ${minuteUtc(data.nextRunAt)}` : `run it with: berth backups run ${data.id}`
      output(command).result(data, () => `added policy ${data.id} to destination ${name}: ${next}`)
    })
}

function bodyOf(destinationId: string, options: AddOptions): PolicyBody {
  const { schedule, timezone, keep, keepDays, volumes, exclude, databases, beforeDeploy, proveEvery } = options
  const payload = {
    ...(volumes === undefined ? {} : { volumes: volumes.split(',').map((name) => name.trim()) }),
    ...(exclude ? { exclude } : {}),
    ...(databases === false ? { databases: 'off' as const } : {}),
  }
  return {
    destinationId,
    ...(schedule ? { cronExpression: schedule } : {}),
    ...(timezone ? { timezone } : {}),
    ...(keep === undefined ? {} : { retainCount: Number(keep) }),
    ...(keepDays === undefined ? {} : { retainDays: Number(keepDays) }),
    ...(proveEvery === undefined ? {} : { proveEveryDays: Number(proveEvery) }),
    ...(beforeDeploy ? { beforeDeploy } : {}),
    ...(Object.keys(payload).length > 0 ? { payload } : {}),
  }
}

export async function showPolicies(command: Command): Promise<void> {
  const { data } = await connect(command).call(contract.backups.listPolicies, { params: { projectId: projectIdOf(command) } })
  const rows = data.map(({ id, cronExpression, timezone, nextRunAt, lastRun }) => [
    id,
    cronExpression ? `${cronExpression} (${timezone})` : 'no schedule',
    nextRunAt ? minuteUtc(nextRunAt) : '-',
    lastRun ? `${lastRun.status} ${lastRun.finishedAt ? minute(lastRun.finishedAt) : ''}` : 'never run',
  ])
  output(command).result(data, () =>
    data.length === 0
      ? 'No policies. Add one with `berth backups policies add`.'
      : columns([['ID', 'SCHEDULE', 'NEXT', 'LAST'], ...rows]),
  )
}
