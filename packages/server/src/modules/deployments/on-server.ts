import { setTimeout as pause } from 'node:timers/promises'
import { ServerAway } from '../../drivers/shell/ssh/server-away.ts'
import { errorMessage } from '../../platform/error-message.ts'
import { DeployFailed, type Deploying, type DeployStep } from './deploy-steps/step.ts'

const lookMs = 1_000

/**
 * Runs a step of a deployment. One that works on a server waits while that is away, and is run again when the way to it was
 * cut meanwhile: whatever it says of its failure, it knows only half of what happened. A server that stays away for the whole
 * waiting time ends the deployment, in words.
 */
export async function runStep(step: DeployStep, deploying: Deploying): Promise<void> {
  const { deployment, deps, abort, log } = deploying
  const { serverId } = deployment
  if (serverId === null || !step.onServer) return step.run(deploying)
  for (;;) {
    await untilReached(serverId, deploying)
    const before = deps.runtimes.losses(serverId)
    try {
      return await step.run(deploying)
    } catch (error) {
      abort.throwIfAborted()
      if (!(error instanceof ServerAway) && deps.runtimes.losses(serverId) === before) throw error
      log.line('The connection to the server was lost; this step is done again once it is back')
    }
  }
}

async function untilReached(serverId: string, { deps, abort, log }: Deploying): Promise<void> {
  const until = performance.now() + deps.settings.serverWaitSeconds * 1000
  let said = ''
  for (;;) {
    const away = await whyAway(serverId, deps, abort)
    if (away === null) return
    abort.throwIfAborted()
    if (performance.now() >= until) throw new DeployFailed('server_unreachable', away)
    if (away !== said) log.line(`Waiting for the server: ${away}`)
    said = away
    await pause(lookMs, undefined, { signal: abort })
  }
}

/** Null when the engine of the server answers. */
export async function whyAway(serverId: string, { runtimes }: Deploying['deps'], abort: AbortSignal): Promise<string | null> {
  try {
    await runtimes.for(serverId).check(abort)
    return null
  } catch (error) {
    return errorMessage(error)
  }
}
