import { type BackupRestore, type BackupRun, contract, type Progress, terminalStatuses } from '@berth/contract'
import { progress as bar } from '@clack/prompts'
import type { connect } from './credentials.ts'
import { CliError } from './exit-codes.ts'
import type { Output } from './output.ts'
import { byteSize } from './quantities.ts'

type Client = ReturnType<typeof connect>

/** Shows the progress of a run, with a bar on a terminal. Resolves when it succeeds; otherwise throws the reason. */
export async function watchRun(client: Client, runId: string, print: Output, isQuiet = false): Promise<BackupRun> {
  const run = await watch<BackupRun>(() => client.stream(contract.backups.streamRun, { params: { runId } }), print, isQuiet)
  if (run.status !== 'succeeded')
    throw new CliError(`the run ${run.id} ${run.status}: ${run.error?.message ?? 'no reason given'}`)
  return run
}

export async function watchRestore(client: Client, restoreId: string, print: Output, isQuiet = false): Promise<BackupRestore> {
  const open = () => client.stream(contract.backups.streamRestore, { params: { restoreId } })
  const restore = await watch<BackupRestore>(open, print, isQuiet)
  if (restore.status !== 'succeeded')
    throw new CliError(
      `the restore ${restore.id} ${restore.status}: ${restore.error?.message ?? 'no reason given'} (the data is ${restore.dataState.replace('_', ' ')})`,
    )
  return restore
}

async function watch<Row extends BackupRun | BackupRestore>(
  open: () => AsyncIterable<{ event: string; data: unknown }>,
  print: Output,
  isQuiet: boolean,
): Promise<Row> {
  const progress = isQuiet || !process.stderr.isTTY ? undefined : bar({ max: 1000, output: process.stderr })
  let last: Row | undefined
  let at = 0
  progress?.start('waiting')
  try {
    for (let attempt = 0; attempt < 5 && !hasEnded(last); attempt++)
      for await (const { event, data } of open()) {
        if (event === 'snapshot' || event === 'complete') last = data as Row
        if (event === 'transition') {
          const text = transitionText(data as Transition)
          if (progress) progress.message(text)
          else print.note(`▸ ${text}`)
        }
        if (event === 'progress') {
          const { bytesDone, bytesTotal, bytesPerSecond } = data as Progress
          const next = bytesTotal ? Math.round((1000 * bytesDone) / bytesTotal) : at
          progress?.advance(Math.max(0, next - at), `${byteSize(bytesDone)} at ${byteSize(bytesPerSecond)}/s`)
          at = Math.max(at, next)
        }
      }
  } finally {
    progress?.stop(last?.status ?? 'ended')
  }
  if (!last || !hasEnded(last)) throw new CliError('The connection was lost. Continue with berth backups watch.')
  return last
}

interface Transition {
  status: string
  verification?: BackupRestore['verification']
}

/** The status; for a staged restore also the progress of its verification. */
const transitionText = ({ status, verification }: Transition): string =>
  status === 'staged' && verification ? `staged, verification ${verification.status}` : status

const hasEnded = (row: { status: string } | undefined) =>
  row !== undefined && (terminalStatuses as readonly string[]).includes(row.status)
