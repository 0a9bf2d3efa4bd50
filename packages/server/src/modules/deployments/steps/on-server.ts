import { setTimeout as pause } from 'node:timers/promises'
import { EngineUnreachable } from '../../../drivers/runtime/engine-unreachable.ts'
import { ServerUnreachable } from '../../../drivers/shell/ssh/server-unreachable.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { errorMessage } from '../../../platform/error-message.ts'
import { DeployFailed } from '../deploy-failed.ts'
import type { Deploying, DeployStep } from '../step.ts'

const pollIntervalMs = 1_000
/** An engine that answers between its failures is not waited for without end. */
const maxCutsLength = 5

/**
 * Runs a step of a deployment. A step that uses a server, or this machine's Docker engine, waits while it is unreachable, and is
 * repeated if the connection was lost meanwhile, because its own error is then incomplete. If it stays unreachable for the whole
 * waiting time, the deployment fails with a message.
 */
export async function runStep(step: DeployStep, deploying: Deploying): Promise<DeploymentRow | undefined> {
  const { deployment, deps, abort, log } = deploying
  const { serverId } = deployment
  const hasEngine = serverId !== null || deps.runtimes.for(null).kind === 'docker'
  if (!hasEngine || !step.onServer) return step.run(deploying)
  for (let cuts = 1; ; cuts++) {
    await untilReached(serverId, deploying)
    const before = deps.runtimes.disconnects(serverId)
    try {
      return await step.run(deploying)
    } catch (error) {
      abort.throwIfAborted()
      if (!(await wasCutShort(error, before, deploying))) throw error
      if (cuts >= maxCutsLength) throw new DeployFailed(unreachableCode(serverId), errorMessage(error), [], { cause: error })
      const what = serverId === null ? 'Docker engine' : 'server'
      log.line(`The connection to the ${what} was lost. This step is repeated when the connection is back.`)
    }
  }
}

async function wasCutShort(error: unknown, lossesBefore: number, { deployment, deps, abort }: Deploying): Promise<boolean> {
  const { serverId } = deployment
  if (error instanceof ServerUnreachable || error instanceof EngineUnreachable) return true
  return deps.runtimes.disconnects(serverId) !== lossesBefore || (await unreachableReason(serverId, deps, abort)) !== null
}

const unreachableCode = (serverId: string | null) => (serverId === null ? 'engine_unreachable' : 'server_unreachable')

async function untilReached(serverId: string | null, { deps, abort, log }: Deploying): Promise<void> {
  const until = performance.now() + deps.settings.serverWaitSeconds * 1000
  let reported = ''
  for (;;) {
    const away = await unreachableReason(serverId, deps, abort)
    if (away === null) return
    abort.throwIfAborted()
    if (performance.now() >= until) throw new DeployFailed(unreachableCode(serverId), away)
    if (away !== reported) log.line(`Waiting for the ${serverId === null ? 'Docker engine' : 'server'}: ${away}`)
    reported = away
    await pause(pollIntervalMs, undefined, { signal: abort })
  }
}

/** Null when the engine, of a server or of this machine, answers. */
export async function unreachableReason(
  serverId: string | null,
  { runtimes }: Deploying['deps'],
  abort: AbortSignal,
): Promise<string | null> {
  try {
    await runtimes.for(serverId).check(abort)
    return null
  } catch (error) {
    return errorMessage(error)
  }
}
