import { Server } from 'node:http'
import { createEmulator, type SeedConfig } from 'emulate'
import { freePort } from '../free-port.ts'

export interface EmulatedGitHub {
  /** Loopback address of the emulator. */
  readonly url: string
  readonly privateKey: string
  close(): Promise<void>
}

export const app = { id: 7700, slug: 'berth-test', installationId: 100 }
export const client = { id: 'Iv1.berthtest', secret: 'the-secret-of-the-client' }
/** `acme` belongs to ann; bob is a member of it, mallory is not. The app is installed on `acme`. */
export const tokens = { ann: 'gho_ann_canary_5f1e0d', bob: 'gho_bob_canary_8c2b7a', mallory: 'gho_mallory_canary_31c9' }

const permissions = {
  contents: 'write',
  metadata: 'read',
  administration: 'write',
  statuses: 'write',
  pull_requests: 'write',
  repository_hooks: 'write',
}

/** npm's `emulate`: GitHub's API with state, app tokens and signatures. `publicUrl` is the base of the URLs in its responses. */
export async function startEmulatedGitHub(publicUrl: string): Promise<EmulatedGitHub> {
  const port = await freePort()
  const seed: SeedConfig = {
    tokens: Object.fromEntries(
      Object.entries(tokens).map(([login, token]) => [token, { login, scopes: ['repo', 'admin:repo_hook', 'user'] }]),
    ),
    github: {
      users: [{ login: 'ann', name: 'Ann' }, { login: 'bob' }, { login: 'mallory' }],
      orgs: [
        {
          login: 'acme',
          name: 'Acme',
          members: [
            { login: 'ann', role: 'admin' },
            { login: 'bob', role: 'member' },
          ],
        },
      ],
      repos: [],
      oauth_apps: [],
      apps: [
        {
          app_id: app.id,
          slug: app.slug,
          name: 'Berth',
          permissions,
          events: ['push', 'pull_request'],
          installations: [{ installation_id: app.installationId, account: 'acme', repository_selection: 'all', permissions }],
        },
      ],
    },
  }
  const emulator = await onLoopback(() => createEmulator({ service: 'github', port, baseUrl: publicUrl, seed }))
  const privateKey = emulator.generatedSecrets.find(({ kind }) => kind === 'github.app_private_key')?.value
  if (!privateKey) throw new Error('the emulator generated no private key for the app')
  return { url: `http://127.0.0.1:${port}`, privateKey, close: () => emulator.close() }
}

/** Makes the emulator listen on loopback: it would listen on every address, and has no setting for that. */
async function onLoopback<Result>(start: () => Promise<Result>): Promise<Result> {
  const listen = Server.prototype.listen as (port: number, host: string) => Server
  Server.prototype.listen = function (this: Server, port: number) {
    return listen.call(this, port, '127.0.0.1')
  } as Server['listen']
  try {
    return await start()
  } finally {
    Server.prototype.listen = listen as Server['listen']
  }
}
