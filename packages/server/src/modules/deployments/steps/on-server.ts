import { setTimeout as pause } from 'node:timers/promises'
import { EngineUnreachable } from '../../../drivers/runtime/engine-unreachable.ts'
import { ServerUnreachable } from '../../../drivers/shell/ssh/server-unreachable.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { errorMessage } from '../../../platform/error-message.ts'
import { DeployFailed } from '../deploy-failed.ts'
import type { DeployStep, StepContext } from '../step.ts'

const pollIntervalMs = 1_000
/** Limits the repetitions for an engine that keeps losing its connection. */
const maxDisconnects = 5

/**
 * Runs a step of a deployment. A step that uses an engine (that of a server, or this machine's Docker) waits until the engine is
 * reachable, and is repeated if the connection was lost during the step. If the engine stays unreachable for `serverWaitSeconds`,
 * the deployment fails with the reason.
 */
export async function runStep(step: DeployStep, deploying: StepContext): Promise<DeploymentRow | undefined> {
  const { deployment, deps, abort, log } = deploying
  const { serverId } = deployment
  const hasEngine = serverId !== null || deps.runtimes.for(null).kind === 'docker'
  if (!hasEngine || !step.onServer) return step.run(deploying)
  for (let disconnects = 1; ; disconnects++) {
    await waitUntilReachable(serverId, deploying)
    const disconnectsBefore = deps.runtimes.disconnects(serverId)
    try {
      return await step.run(deploying)
    } catch (error) {
      abort.throwIfAborted()
      if (!(await wasInterrupted(error, disconnectsBefore, deploying))) throw error
      if (disconnects >= maxDisconnects)
        throw new DeployFailed(unreachableCode(serverId), errorMessage(error), [], { cause: error })
      const location = serverId === null ? 'Docker engine' : 'server'
      log.line(`The connection to the ${location} was lost. This step is repeated when the connection is back.`)
    }
  }
}

async function wasInterrupted(
  error: unknown,
  disconnectsBefore: number,
  { deployment, deps, abort }: StepContext,
): Promise<boolean> {
  const { serverId } = deployment
  if (error instanceof ServerUnreachable || error instanceof EngineUnreachable) return true
  return deps.runtimes.disconnects(serverId) !== disconnectsBefore || (await unreachableReason(serverId, deps, abort)) !== null
}

const unreachableCode = (serverId: string | null) => (serverId === null ? 'engine_unreachable' : 'server_unreachable')

async function waitUntilReachable(serverId: string | null, { deps, abort, log }: StepContext): Promise<void> {
  const deadline = performance.now() + deps.settings.serverWaitSeconds * 1000
  let lastReported = ''
  for (;;) {
    const reason = await unreachableReason(serverId, deps, abort)
    if (reason === null) return
    abort.throwIfAborted()
    if (performance.now() >= deadline) throw new DeployFailed(unreachableCode(serverId), reason)
    if (reason !== lastReported) log.line(`Waiting for the ${serverId === null ? 'Docker engine' : 'server'}: ${reason}`)
    lastReported = reason
    await pause(pollIntervalMs, undefined, { signal: abort })
  }
}

/** Null when the engine, of a server or of this machine, answers. */
export async function unreachableReason(
  serverId: string | null,
  { runtimes }: StepContext['deps'],
  abort: AbortSignal,
): Promise<string | null> {
  try {
    await runtimes.for(serverId).check(abort)
    return null
  } catch (error) {
    return errorMessage(error)
  }
}
