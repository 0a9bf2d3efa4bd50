import { type BackupRun, contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { output } from '../../output.ts'
import { projectIdOf } from '../../project-link.ts'
import { byteSize } from '../../quantities.ts'
import { watchRun } from '../../watch-backup.ts'

/** Runs a backup and shows its progress. */
export async function runPolicy(policy: string | undefined, command: Command): Promise<void> {
  const client = connect(command)
  const policyId = policy ?? (await onlyPolicy(command))
  const { data } = await client.call(contract.backups.startRun, { params: { policyId } })
  const run = await watchRun(client, data.runId, output(command), command.optsWithGlobals().json === true)
  output(command).result(run, () => runText(run))
}

/** Counts all artifacts of the run; an unchanged one was checked, but not stored again. */
export function runText({ id, artifacts, sizeBytes, warning }: BackupRun): string {
  const unchangedCount = artifacts.filter(({ reused }) => reused).length
  const count = `${artifacts.length} ${artifacts.length === 1 ? 'artifact' : 'artifacts'}`
  const unchanged = unchangedCount > 0 ? `, ${unchangedCount} of them unchanged since an earlier run` : ''
  return `${id}: ${count} backed up and verified (${byteSize(sizeBytes ?? 0)})${unchanged}${warning ? `\nWarning: ${warning}` : ''}`
}

async function onlyPolicy(command: Command): Promise<string> {
  const { data } = await connect(command).call(contract.backups.listPolicies, { params: { projectId: projectIdOf(command) } })
  if (data.length === 1) return data[0]!.id
  throw new CliError(
    data.length === 0
      ? 'The project has no backup policy. Add one with berth backups policies add.'
      : `The project has several backup policies. Name one: ${data.map(({ id }) => id).join(', ')}`,
    2,
  )
}
