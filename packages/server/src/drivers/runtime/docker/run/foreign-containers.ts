import type { Runtime } from '../../runtime.ts'
import { ask, askFor, type Engine, statusOf } from '../engine.ts'

const stopMs = 30_000

/** Containers that somebody else made; they are stopped and started, never changed or removed. */
export function foreignContainers(engine: Engine): NonNullable<Runtime['foreign']> {
  const keepsRestarting = (containerId: string, policy: string, abort: AbortSignal) =>
    askFor((abortSignal) => engine.getContainer(containerId).update({ RestartPolicy: { Name: policy }, abortSignal }), { abort })
  return {
    async stop(containerId, { graceSeconds }, abort) {
      // First: an engine that restarts it between the two would leave both running.
      if ((await keepsRestarting(containerId, 'no', abort)) === undefined) return
      try {
        const timeoutMs = graceSeconds * 1000 + stopMs
        await ask((abortSignal) => engine.getContainer(containerId).stop({ t: graceSeconds, abortSignal }), { abort, timeoutMs })
      } catch (error) {
        // 304: it does not run.
        if (statusOf(error) !== 304 && statusOf(error) !== 404) throw error
      }
    },
    async start(containerId, { restart }, abort) {
      await keepsRestarting(containerId, restart, abort)
      try {
        await ask((abortSignal) => engine.getContainer(containerId).start({ abortSignal }), { abort })
      } catch (error) {
        if (statusOf(error) !== 304) throw error
      }
    },
  }
}
