import type { Hosting } from '../../tests/kit/hosting.ts'

/** The environment of a scenario: its own instance, and the monitoring of it. */
export interface Scene {
  /** The instance and its owner. */
  hosting: Hosting
  /**
   * Runs the attack while another caller requests `/api/health` and the control plane's memory is sampled. Everything that prepares the attack comes
   * before. Resolves with the attack's own result. A scenario calls it once.
   */
  watch<T>(attack: (until: AbortSignal) => Promise<T>): Promise<T>
  /** Registers the cleanup of a resource (a hostile server, a connection); cleanups run after the scenario in reverse order. */
  defer(end: () => unknown): void
}

/** A hostile peer, tenant or project. Each is a file in this folder and is listed in `all.ts`. */
export interface Scenario {
  name: string
  /** Settings of the instance (BERTH_…). */
  env?: NodeJS.ProcessEnv
  /** Prepares the attack, runs it inside `scene.watch`, and returns a short line for the table: how the instance responded. */
  run(scene: Scene): Promise<string>
}
