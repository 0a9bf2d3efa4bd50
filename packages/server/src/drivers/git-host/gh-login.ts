import { Secret } from '../../platform/secrets/secret.ts'
import type { RunCommand } from '../shell/command.ts'
import { CommandFailed, ProgramMissing } from '../shell/command-errors.ts'

export interface LocalLoginState {
  available: boolean
  login: string | null
  host: string
  /** The reason why there is no login. */
  reason: string | null
}

/** The login of `gh` on this machine, for the user that Berth runs as. Berth does not store it. */
export interface LocalLogin {
  readonly host: string
  /** Command with which a user logs in. */
  readonly command: string
  state(): Promise<LocalLoginState>
  /** Null where there is no login. */
  token(): Promise<Secret | null>
}

const limits = { timeoutMs: 10_000, maxOutputBytes: 10_000 }
const env = { GH_PROMPT_DISABLED: '1', GH_NO_UPDATE_NOTIFIER: '1', NO_COLOR: '1' }

export function createGhLogin(run: RunCommand, webUrl: string): LocalLogin {
  const { host } = new URL(webUrl)
  const gh = async (...args: string[]) => (await run({ program: 'gh', args, env }, limits)).stdout.trim()
  const token = async () => {
    const text = await gh('auth', 'token', '--hostname', host).catch(nullIfNoLogin)
    return text && /^[\x21-\x7e]{1,1000}$/.test(text) ? new Secret(text) : null
  }
  return {
    host,
    command: `gh auth login --hostname ${host}`,
    token,
    async state() {
      const none = (reason: string) => ({ available: false, login: null, host, reason })
      try {
        if (!(await token())) return none(`gh has no login for ${host} on this machine`)
        const login = await gh('config', 'get', 'user', '--host', host).catch(nullIfNoLogin)
        return { available: true, login: login || null, host, reason: null }
      } catch (error) {
        if (error instanceof ProgramMissing) return none('gh is not installed on this machine')
        throw error
      }
    },
  }
}

function nullIfNoLogin(error: unknown): null {
  if (error instanceof CommandFailed) return null
  throw error
}
