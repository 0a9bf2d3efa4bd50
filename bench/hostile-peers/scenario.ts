import type { Hosting } from '../../tests/kit/hosting.ts'

/** What a scenario works with: an instance of its own, and the watch over it. */
export interface Scene {
  /** The instance and its owner. */
  hosting: Hosting
  /**
   * Runs the attack while another caller requests `/api/health` and the control plane's memory is sampled. Everything that prepares the attack comes
   * before. Resolves with the attack's own result. A scenario calls it once.
   */
  watch<T>(attack: (until: AbortSignal) => Promise<T>): Promise<T>
  /** Ends a resource of the scenario (a hostile server, a connection) after it, the last one first. */
  defer(end: () => unknown): void
}

/** One hostile peer, tenant or project. Each lies in a file of its own in this folder and is listed in `all.ts`. */
export interface Scenario {
  name: string
  /** Settings of the instance (BERTH_…). */
  env?: NodeJS.ProcessEnv
  /** Prepares the attack, runs it inside `scene.watch`, and returns one short line for the table: how the instance answered. */
  run(scene: Scene): Promise<string>
}
