import type { Container } from 'dockerode'
import { readTar } from '../../../tar/read-tar.ts'
import { StartFailed } from '../../runtime-errors.ts'
import { callEngine, type Engine } from '../engine.ts'

const rootMappingByEngine = new WeakMap<Engine, boolean>()
const maxPasswd = 1024 ** 2

/** Checks once whether the engine maps a container's root to another user: `userns-remap`, or a rootless engine. */
export async function detectRootMapping(engine: Engine): Promise<boolean> {
  const known = rootMappingByEngine.get(engine)
  if (known !== undefined) return known
  const { SecurityOptions } = (await callEngine(() => engine.info())) as { SecurityOptions?: string[] | null }
  const isMapped = (SecurityOptions ?? []).some((option) => /^name=(userns|rootless)\b/.test(option))
  rootMappingByEngine.set(engine, isMapped)
  return isMapped
}

export const isRootMapped = (engine: Engine): boolean => rootMappingByEngine.get(engine) ?? false

/** Whether a user setting (empty, or name or number with an optional group) means root. */
export const isRoot = (user: string | undefined): boolean => /^(root|0+)?(:|$)/.test((user ?? '').trim())

/** Rejects a container that would run as root, before it starts. A user name is looked up in the container's /etc/passwd. */
export async function refuseRoot(container: Container, engine: Engine, abort: AbortSignal): Promise<void> {
  if (isRootMapped(engine)) return
  const { Config } = await callEngine((abortSignal) => container.inspect({ abortSignal }), { abort })
  const [name = ''] = (Config.User ?? '').trim().split(':', 1)
  const uid = isRoot(name) || /^\d+$/.test(name) ? name : await uidOf(name, container, abort)
  if (!isRoot(uid)) return
  throw new StartFailed(
    'The container would run as root, which the operators of this instance forbid (BERTH_ALLOW_ROOT). Add a USER other than root to its Dockerfile, or `user:` to the service.',
  )
}

/** User id of a name. '' if it is unknown, which counts as root. */
async function uidOf(name: string, container: Container, abort: AbortSignal): Promise<string> {
  const archive = await container.getArchive({ path: '/etc/passwd', abortSignal: abort }).catch(() => null)
  if (!archive) return ''
  for await (const { header, content } of readTar(archive as AsyncIterable<Buffer>)) {
    if (header.type !== 'file' || header.size > maxPasswd) return ''
    const line = Buffer.concat(await Array.fromAsync(content))
      .toString('latin1')
      .split('\n')
      .find((one) => one.startsWith(`${name}:`))
    const [, , uid = ''] = line?.split(':') ?? []
    return /^\d+$/.test(uid) ? uid : ''
  }
  return ''
}
