import type { ForeignState, Runtime } from '../../runtime.ts'
import { callEngine, callEngineOrMissing, type Engine, statusOf } from '../engine.ts'

const stopTimeoutMs = 30_000

/** Existing containers that Berth did not create. They are stopped and started, never removed. */
export function foreignContainers(engine: Engine): NonNullable<Runtime['foreign']> {
  const setRestartPolicy = ({ name, retries }: ForeignState['restart'], containerId: string, abort: AbortSignal) => {
    const RestartPolicy = { Name: name, MaximumRetryCount: retries }
    return callEngineOrMissing((abortSignal) => engine.getContainer(containerId).update({ RestartPolicy, abortSignal }), {
      abort,
    })
  }
  return {
    async inspect(containerId, abort) {
      const found = await callEngineOrMissing((abortSignal) => engine.getContainer(containerId).inspect({ abortSignal }), {
        abort,
      })
      if (!found) return null
      const { Name, MaximumRetryCount } = found.HostConfig.RestartPolicy ?? {}
      const isRunning = found.State.Running || found.State.Restarting
      return { isRunning, restart: { name: Name || 'no', retries: MaximumRetryCount ?? 0 } }
    },
    async stop(containerId, { graceSeconds }, abort) {
      // Before the stop: otherwise the engine could restart the container, which would then run beside the project.
      if ((await setRestartPolicy({ name: 'no', retries: 0 }, containerId, abort)) === undefined) return
      const timeoutMs = graceSeconds * 1000 + stopTimeoutMs
      await ignoreAlreadyDone(() =>
        callEngine((abortSignal) => engine.getContainer(containerId).stop({ t: graceSeconds, abortSignal }), {
          abort,
          timeoutMs,
        }),
      )
    },
    async rollbackTakeover(containerId, { isRunning, restart }, abort) {
      if ((await setRestartPolicy(restart, containerId, abort)) === undefined || !isRunning) return
      await ignoreAlreadyDone(() =>
        callEngine((abortSignal) => engine.getContainer(containerId).start({ abortSignal }), { abort }),
      )
    },
  }
}

/** Ignores 304 (already in that state) and 404 (removed). */
async function ignoreAlreadyDone(call: () => Promise<unknown>): Promise<void> {
  try {
    await call()
  } catch (error) {
    if (statusOf(error) !== 304 && statusOf(error) !== 404) throw error
  }
}
