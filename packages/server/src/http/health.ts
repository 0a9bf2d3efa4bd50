import type { contract, InstanceVersion, Machine } from '@berth/contract'
import type { Awaitable } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'
import type { Handlers } from './handler.ts'
import type { WorkerState } from './worker-proxy.ts'

export interface InstanceFacts {
  version: string
  mode: 'self-hosted' | 'cloud'
  /** Current isolation of projects; undefined when this instance runs none. */
  isolation(): Awaitable<{ kind: 'docker' | 'bubblewrap' | 'own-users' | 'none'; message: string } | undefined>
  /** Whether a user can sign in or set the instance up. */
  isReady(): Awaitable<boolean>
  /** State of the worker. */
  worker(): Promise<WorkerState>
  /** Whether the first owner exists. */
  isSetUp(): Awaitable<boolean>
  machine(): Promise<Machine>
  /** Compares the version with the package registry. */
  versionCheck(): InstanceVersion
}

/** Handlers about the instance itself. */
export function createInstance({ version, mode, isolation, isReady, isSetUp, worker, machine, versionCheck }: InstanceFacts) {
  const handlers: Handlers<typeof contract.instance> = {
    health: async (_, { isSignedIn }) => {
      if (!(await isReady())) fail('starting', { retryAfterSeconds: 1 })
      const activeIsolation = isSignedIn ? await isolation() : undefined
      return {
        data: {
          status: 'ok',
          version,
          mode,
          ...(isSignedIn ? { worker: await worker() } : {}),
          ...((await isSetUp()) ? {} : { setUp: false }),
          ...(activeIsolation ? { isolation: { kind: activeIsolation.kind, message: activeIsolation.message } } : {}),
        },
      }
    },
    machine: async () => ({ data: await machine() }),
    version: () => ({ data: versionCheck() }),
  }
  return { handlers }
}
