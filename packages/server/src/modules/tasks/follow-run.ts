import { setTimeout as pause } from 'node:timers/promises'
import { errorMessage } from '../../platform/error-message.ts'
import { type TaskEnd, TaskNotStarted } from '../deployments/index.ts'
import type { BegunRun } from './begin-run.ts'
import { findRun, saveLogPosition } from './cron-run-store.ts'
import { nowOf, type TasksDeps } from './deps.ts'
import { finishRun, type RunEnding } from './finish-run.ts'

const graceSeconds = 10
const savePositionMs = 1_000
/** Pause before an engine that did not respond, or a stream that ended early, is read again. */
const retryMs = 1_000

/** Starts the command unless an earlier attempt did, stores its output and records its end. */
export async function followRun(begun: BegunRun, deps: TasksDeps, abort: AbortSignal): Promise<void> {
  const { run, instance, timeoutSeconds } = begun
  const remainingMs = Math.max(0, (run.startedAt as number) + timeoutSeconds * 1000 - nowOf(deps))
  const timeLimit = AbortSignal.timeout(remainingMs)
  const isOver = AbortSignal.any([abort, timeLimit])
  let ending: RunEnding
  try {
    if (begun.isFirst) await start(begun, deps, isOver)
    ending = endingOf(await waitForEnd(begun, deps, isOver), begun)
  } catch (error) {
    // A shutdown leaves the run as it is: the next attempt follows the instance, or finds that it was stopped.
    abort.throwIfAborted()
    if (timeLimit.aborted)
      ending = { status: 'timed_out', exitCode: null, error: `It took longer than ${timeoutSeconds} seconds` }
    else if (error instanceof TaskNotStarted) ending = { status: 'failed', exitCode: null, error: error.message }
    else throw error
  }
  await deps.instances.stop(instance, graceSeconds)
  await finishRun(run.id, ending, deps)
}

async function start({ run, instance, deploymentId, command }: BegunRun, deps: TasksDeps, abort: AbortSignal): Promise<void> {
  await deps.instances.start(instance, { deploymentId, command }, abort).catch((error: unknown) => {
    if (abort.aborted || error instanceof TaskNotStarted) throw error
    // Not retried: the command may have been started.
    deps.log.error({ err: error, runId: run.id }, 'tasks: instance of a run not started')
    throw new TaskNotStarted(`The instance could not be started: ${errorMessage(error)}`)
  })
  // The task was deleted, or its project disabled, while the instance was starting.
  if ((await findRun(deps.database.db, run.id))?.status !== 'running') await deps.instances.stop(instance, 0)
}

/** Stores the output until the command has ended. Undefined: the instance does not exist. Rejects when aborted. */
async function waitForEnd({ run, instance }: BegunRun, deps: TasksDeps, abort: AbortSignal): Promise<TaskEnd | undefined> {
  let position = run.logPosition
  let savedAt = 0
  for (;;) {
    try {
      for await (const { time, stream, message, position: next } of deps.instances.output(
        instance,
        run.projectId,
        position,
        abort,
      )) {
        await deps.logStore.append(run.projectId, 'tasks', [{ time, stream, message, runId: run.id }])
        position = next
        if (performance.now() - savedAt < savePositionMs) continue
        savedAt = performance.now()
        await savePosition(run, position, deps)
      }
      abort.throwIfAborted()
      const end = await deps.instances.findEnd(instance)
      if (end !== null) return end
    } catch (error) {
      abort.throwIfAborted()
      deps.log.warn({ err: error, runId: run.id }, 'tasks: the output of a run cannot be read, will retry')
    } finally {
      await savePosition(run, position, deps).catch(() => undefined)
    }
    await pause(retryMs, undefined, { signal: abort })
  }
}

/** Saves the position after its lines are in the log's file, so that a killed process reads them again instead of losing them. */
async function savePosition(run: BegunRun['run'], position: string | null, { logStore, database }: TasksDeps): Promise<void> {
  await logStore.write(run.projectId, 'tasks')
  await saveLogPosition(database.db, run.id, position)
}

function endingOf(end: TaskEnd | undefined, { isFirst }: BegunRun): RunEnding {
  const failed = (error: string, exitCode: number | null = null): RunEnding => ({ status: 'failed', exitCode, error })
  if (!end) return failed(isFirst ? 'The container was removed while it ran' : 'Berth was restarted while the task ran')
  const { exitCode, reason } = end
  if (exitCode === 0 && reason === null) return { status: 'succeeded', exitCode, error: null }
  if (reason !== null) return failed(reason, exitCode)
  if (exitCode === null)
    return failed(isFirst ? 'It ended without an exit code' : 'Berth was restarted while the task ran: its exit code is unknown')
  return failed(`The command ended with exit code ${exitCode}`, exitCode)
}
