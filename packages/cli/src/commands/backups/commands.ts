import { type BackupRestore, contract } from '@berth/contract'
import { confirm, isCancel } from '@clack/prompts'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { columns, minute, output } from '../../output.ts'
import { projectIdOf, projectOption } from '../../project-link.ts'
import { byteSize } from '../../quantities.ts'
import { watchRestore, watchRun } from '../../watch-backup.ts'
import { addDestinations } from './destinations.ts'
import { addInstanceBackups } from './instance.ts'
import { addPolicies, showPolicies } from './policies.ts'
import { runPolicy } from './run-policy.ts'

/** `berth backups …`: lists, runs and restores backups. */
export function addBackups(program: Command): void {
  const backups = program.command('backups').description('back up and restore projects')
  addList(backups)
  addRun(backups)
  addWatch(backups)
  addProtect(backups)
  addRestore(backups)
  addUndo(backups)
  addDestinations(backups)
  addPolicies(backups)
  addInstanceBackups(backups)
}

const isQuiet = (command: Command) => command.optsWithGlobals().json === true

function addList(backups: Command): void {
  backups
    .command('list')
    .description('list backup runs of a project, newest first')
    .option(...projectOption)
    .option('--policies', 'list the policies instead')
    .option('--all', 'list runs of every project, deleted projects included')
    .action(async ({ policies, all }: { policies?: boolean; all?: boolean }, command: Command) => {
      const client = connect(command)
      if (all) return showAll(command)
      if (policies) return showPolicies(command)
      const params = { projectId: projectIdOf(command) }
      const { data } = await client.call(contract.backups.listRuns, { params })
      const rows = data.map((run) => [
        run.id,
        run.prunedAt ? 'pruned' : run.status,
        run.trigger,
        minute(run.finishedAt ?? run.createdAt),
        run.sizeBytes === null ? '-' : byteSize(run.sizeBytes),
        [run.protected ? 'protected' : '', run.proven ? 'proven' : ''].filter(Boolean).join(', '),
      ])
      output(command).result(data, () => columns([['ID', 'STATUS', 'TRIGGER', 'WHEN', 'SIZE', ''], ...rows]))
    })
}

async function showAll(command: Command): Promise<void> {
  const { data } = await connect(command).call(contract.backups.listAllRuns, {})
  const rows = data.map((run) => [
    run.id,
    run.projectName,
    run.prunedAt ? 'pruned' : run.status,
    minute(run.finishedAt ?? run.createdAt),
    run.sizeBytes === null ? '-' : byteSize(run.sizeBytes),
    run.projectId,
  ])
  output(command).result(data, () => columns([['ID', 'PROJECT', 'STATUS', 'WHEN', 'SIZE', 'PROJECT ID'], ...rows]))
}

function addRun(backups: Command): void {
  backups
    .command('run [policy]')
    .description('run a backup now with this policy (default: the only policy of the project)')
    .option(...projectOption)
    .action(async (policy: string | undefined, _options, command: Command) => {
      await runPolicy(policy, command)
    })
}

function addWatch(backups: Command): void {
  backups
    .command('watch <run>')
    .description('watch a backup run or a restore until it ends')
    .action(async (id: string, _options, command: Command) => {
      const client = connect(command)
      const watch = id.startsWith('rst_') ? watchRestore : watchRun
      const row = await watch(client, id, output(command), isQuiet(command))
      output(command).result(row, () => `${row.id} ${row.status}`)
    })
}

function addProtect(backups: Command): void {
  backups
    .command('protect <run>')
    .description('lock a run against pruning')
    .option('--release', 'remove the lock')
    .option('--until <time>', 'when the lock ends, for example 2027-01-31T00:00:00Z')
    .action(async (runId: string, { release, until }: { release?: boolean; until?: string }, command: Command) => {
      const body = { protected: !release, ...(until ? { until: new Date(until).toISOString() } : {}) }
      const { data } = await connect(command).call(contract.backups.protectRun, { params: { runId }, body })
      output(command).result(data, () => `${data.id} ${data.protected ? 'is protected' : 'is no longer protected'}`)
    })
}

function addRestore(backups: Command): void {
  backups
    .command('restore <run>')
    .description('restore a backup run; the current data is backed up first, so the restore can be undone')
    .option('--copy', 'restore into new volumes; the project keeps running')
    .option('-y, --yes', 'skip the confirmation')
    .action(async (runId: string, options: { copy?: boolean; yes?: boolean }, command: Command) => {
      const restore = await restoreRun(runId, options, command)
      output(command).result(restore, () => resultOf(restore))
    })
}

function addUndo(backups: Command): void {
  backups
    .command('undo <restore>')
    .description('undo a restore: put back the data from before it')
    .option('-y, --yes', 'skip the confirmation')
    .action(async (restoreId: string, options: { yes?: boolean }, command: Command) => {
      const { data } = await connect(command).call(contract.backups.getRestore, { params: { restoreId } })
      if (!data.preRestoreRunId) throw new CliError('This restore cannot be undone: no backup was made before it', 5)
      const restore = await restoreRun(data.preRestoreRunId, options, command)
      output(command).result(restore, () => resultOf(restore))
    })
}

async function restoreRun(
  runId: string,
  { copy, yes }: { copy?: boolean; yes?: boolean },
  command: Command,
): Promise<BackupRestore> {
  const client = connect(command)
  const body = { target: copy ? ('copy' as const) : ('in_place' as const) }
  const { data } = await client.call(contract.backups.prepareRestore, { params: { runId }, body })
  const params = { restoreId: data.restoreId }
  if (!copy && !yes) await confirmFirst(params.restoreId, command)
  await client.call(contract.backups.applyRestore, { params, body: { confirmationToken: data.confirmationToken } })
  return watchRestore(client, params.restoreId, output(command), isQuiet(command))
}

async function confirmFirst(restoreId: string, command: Command): Promise<void> {
  const client = connect(command)
  if (!process.stdin.isTTY) throw new CliError('A restore replaces the current data. Add --yes to confirm.', 2)
  const answer = await confirm({
    message: `Replace the volumes and databases with those of the backup? Settings and variables stay as they are. (${restoreId})`,
    initialValue: false,
  })
  if (answer === true && !isCancel(answer)) return
  await client.call(contract.backups.cancelRestore, { params: { restoreId } })
  throw new CliError('Cancelled. Nothing was changed.', 1)
}

const resultOf = ({ id, target, preRestoreRunId, volumes }: BackupRestore) =>
  target === 'copy'
    ? `${id}: written into ${volumes.map(({ name }) => name).join(', ') || 'no volume: the backup contains no data'}`
    : `${id}: restored${preRestoreRunId ? `. The previous data is in ${preRestoreRunId} (undo with berth backups undo ${id})` : ''}`
