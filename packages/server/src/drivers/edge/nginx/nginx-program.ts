import { ConfigError } from '../../../platform/config-error.ts'
import { errorMessage } from '../../../platform/error-message.ts'
import type { RunCommand } from '../../shell/command.ts'
import { ProgramMissing } from '../../shell/command-errors.ts'

export interface NginxProgram {
  path: string
  version: readonly [number, number, number]
}

/** `ssl_reject_handshake` and `-e` exist since 1.19.5. */
const oldest = [1, 20] as const
const modules = ['http_ssl_module', 'http_v2_module', 'http_realip_module', 'http_auth_request_module']
/** Folders of system programs are often not in the PATH of a user. */
const candidates = ['nginx', '/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/local/nginx/sbin/nginx']

/** Finds an nginx that Berth can use. Otherwise a `ConfigError` says what to install. */
export async function findNginx(run: RunCommand, program?: string): Promise<NginxProgram> {
  if (process.platform !== 'linux') throw refusal(`nginx is supported on Linux only. Set BERTH_EDGE=embedded.`)
  for (const path of program === undefined ? candidates : [program]) {
    try {
      const { stderr } = await run({ program: path, args: ['-V'] }, { timeoutMs: 10_000, maxOutputBytes: 65_536 })
      return { path, version: readVersion(stderr) }
    } catch (cause) {
      if (cause instanceof ConfigError) throw cause
      if (!(cause instanceof ProgramMissing)) throw refusal(`${path} cannot be run: ${errorMessage(cause)}. ${advice}`)
    }
  }
  throw refusal(`nginx is not installed. ${advice}`)
}

const advice = `Install nginx ${oldest.join('.')} or later (Debian and Ubuntu: apt install nginx-light), or set BERTH_EDGE=embedded.`

/** Reads the output of `nginx -V`. */
export function readVersion(text: string): NginxProgram['version'] {
  const found = /nginx version: [^/\s]+\/(\d+)\.(\d+)\.(\d+)/.exec(text)
  if (!found) throw refusal(`the installed nginx does not state its version. ${advice}`)
  const version = [Number(found[1]), Number(found[2]), Number(found[3])] as const
  if (version[0] < oldest[0] || (version[0] === oldest[0] && version[1] < oldest[1]))
    throw refusal(`the installed nginx ${version.join('.')} is too old. ${advice}`)
  const missing = modules.filter((name) => !text.includes(`--with-${name}`))
  if (missing.length > 0) throw refusal(`the installed nginx was built without ${missing.join(', ')}. ${advice}`)
  return version
}

const refusal = (problem: string) => new ConfigError('BERTH_EDGE', `BERTH_EDGE is "nginx", but ${problem}`)
