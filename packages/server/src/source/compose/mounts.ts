import { posix } from 'node:path'
import { parseBytes } from './amounts.ts'
import type { ComposeMount } from './model.ts'
import { projectPath } from './paths.ts'
import { type Place, refuse, warn, within } from './place.ts'
import { flagAt, isMapping, listAt, sizeMbAt, textAt, textsAt, warnOfOthers } from './values.ts'

export const volumeName = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/
const engineSocket = /(^|\/)(docker|containerd|podman|crio|dockershim)\.sock$/

export function readMounts(value: unknown, place: Place): ComposeMount[] {
  return listAt(value, place).flatMap((item, index) => {
    const at = within(place, index)
    return (isMapping(item) ? longMount(item, at) : shortMount(item, at)) ?? []
  })
}

/** `tmpfs: /run` or a list of `/run:size=64m,mode=1777`. */
export function readTmpfs(value: unknown, place: Place): ComposeMount[] {
  return textsAt(value, place).flatMap((text) => {
    const [target = '', options = ''] = text.split(':')
    const size = /(?:^|,)size=([^,]+)/.exec(options)?.[1]
    const bytes = size === undefined ? null : parseBytes(size)
    return tmpfs(target, bytes === null ? null : Math.ceil(bytes / 1024 ** 2), place) ?? []
  })
}

/** A bind that a reader of `secrets` and `configs` makes of a file of the project. */
export function fileMount(file: string, target: string, place: Place): ComposeMount | null {
  return mount('bind', file, target, true, place)
}

const modes = ['ro', 'rw', 'z', 'Z', 'cached', 'delegated', 'consistent', 'nocopy']

/** `[source:]target[:mode,…]`; a source that starts like a path is one, anything else names a volume. */
function shortMount(value: unknown, place: Place): ComposeMount | null {
  const text = textAt(value, place)
  if (text === null) return null
  // A drive letter's colon separates nothing.
  const drive = /^[a-zA-Z]:[\\/]/.test(text) ? text.slice(0, 2) : ''
  const parts = text.slice(drive.length).split(':')
  if (parts.length > 3) {
    refuse(place, `"${text}" is not a volume`)
    return null
  }
  if (parts.length === 1 && !drive) return mount('volume', null, parts[0]!, false, place)
  const [source = '', target = '', mode = ''] = parts
  const options = mode.split(',').filter(Boolean)
  for (const option of options) if (!modes.includes(option)) warn(place, `the mode "${option}" has no effect`)
  const type = drive || /^[./~\\]/.test(source) ? 'bind' : 'volume'
  return mount(type, drive + source, target, options.includes('ro'), place)
}

const longFields = ['type', 'source', 'target', 'read_only', 'consistency', 'bind', 'volume', 'tmpfs']

function longMount(fields: Record<string, unknown>, place: Place): ComposeMount | null {
  warnOfOthers(fields, longFields, place)
  warnOfOthers(fields.bind, ['create_host_path', 'selinux'], within(place, 'bind'))
  warnOfOthers(fields.volume, ['nocopy'], within(place, 'volume'))
  const read = (key: string) => textAt(fields[key], within(place, key))
  const type = read('type') ?? 'volume'
  const target = read('target') ?? ''
  const readOnly = flagAt(fields.read_only, within(place, 'read_only')) ?? false
  if (type === 'tmpfs') {
    const options = isMapping(fields.tmpfs) ? fields.tmpfs : {}
    return tmpfs(target, sizeMbAt(options.size, within(place, 'tmpfs.size')), place)
  }
  if (type === 'bind') return mount('bind', read('source') ?? '', target, readOnly, place)
  if (type === 'volume') return mount('volume', read('source') || null, target, readOnly, place)
  if (type === 'npipe') refuse(within(place, 'type'), 'a pipe of the host cannot be mounted')
  else warn(within(place, 'type'), `a mount of type "${type}" is not understood and is ignored`)
  return null
}

function mount(
  type: 'volume' | 'bind',
  source: string | null,
  target: string,
  readOnly: boolean,
  place: Place,
): ComposeMount | null {
  const at = containerPath(target, place)
  if (type === 'volume' && source !== null && !volumeName.test(source)) {
    refuse(place, `"${source}" is not the name of a volume; a path of the project starts with ./`)
    return null
  }
  const path = type === 'bind' ? boundPath(source ?? '', place) : source
  if (at === null || (type === 'bind' && path === null)) return null
  return { type, source: path, target: at, readOnly }
}

function tmpfs(target: string, sizeMb: number | null, place: Place): ComposeMount | null {
  const at = containerPath(target, place)
  return at === null ? null : { type: 'tmpfs', source: null, target: at, readOnly: false, ...(sizeMb === null ? {} : { sizeMb }) }
}

function boundPath(source: string, place: Place): string | null {
  if (!engineSocket.test(source)) return projectPath(source, 'the host path', place)
  refuse(place, `the engine's socket "${source}" would hand over the whole machine`)
  return null
}

function containerPath(target: string, place: Place): string | null {
  const path = posix.normalize(target)
  if (path.startsWith('/') && path !== '/' && !path.includes('\0')) return path.replace(/(?<=.)\/$/, '')
  refuse(place, `"${target}" is not a path in the container`)
  return null
}
