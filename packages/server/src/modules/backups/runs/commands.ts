import type { PolicyRow, RunRow } from '../../../platform/db/tables/backups.ts'
import { commandInside } from '../content/command.ts'
import { runInside } from '../content/exec-output.ts'
import type { BackupsDeps } from '../deps.ts'
import { BackupFailed, errorText } from '../failures.ts'
import { updateRun } from './run-store.ts'

const commandTimeoutMs = 30 * 60_000

type Commands = Pick<PolicyRow, 'preCommand' | 'postCommand'>

/** Records that the post-command is due before the pre-command starts, so that it runs in any case. */
export async function runPreCommand(run: RunRow, { preCommand, postCommand }: Commands, deps: BackupsDeps, abort: AbortSignal) {
  if (postCommand) await updateRun(deps.database.db, run.id, { postCommandState: 'due' })
  if (!preCommand) return
  await runCommand('preCommand', preCommand, run, deps, abort)
}

/** Runs the post-command once, whatever the result of the pre-command; a second call does nothing. */
export async function runPostCommand(
  run: RunRow,
  { postCommand }: Commands,
  deps: BackupsDeps,
  abort: AbortSignal,
): Promise<void> {
  if (postCommand) await runCommand('postCommand', postCommand, run, deps, abort)
  await updateRun(deps.database.db, run.id, { postCommandState: 'done' })
}

async function runCommand(commandName: string, text: string, run: RunRow, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  const units = await deps.data.units(run.projectId)
  const candidates = units.filter(({ service }) => run.serviceId === null || service === run.serviceId)
  const unit = candidates.find(({ instance }) => instance !== null)
  if (!unit?.instance)
    throw new BackupFailed(
      'not_running',
      `The ${commandName} requires ${run.serviceId === null ? 'the project' : `service ${run.serviceId}`} to be running. Start it, or remove the command.`,
    )
  const runtime = deps.data.runtimeFor(unit.instance.serverId)
  const limit = AbortSignal.any([abort, AbortSignal.timeout(commandTimeoutMs)])
  try {
    await runInside(runtime, unit.instance.id, { ...commandInside(text), env: unit.env }, limit)
  } catch (error) {
    abort.throwIfAborted()
    throw new BackupFailed(
      commandName === 'preCommand' ? 'pre_command_failed' : 'post_command_failed',
      `The ${commandName} failed: ${errorText(error)}`,
      {
        cause: error,
      },
    )
  }
}
