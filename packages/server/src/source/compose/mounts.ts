import { posix } from 'node:path'
import { containerPatterns } from '@berth/contract'
import { parseBytes } from './amounts.ts'
import { type Location, refuse, within } from './location.ts'
import type { ComposeMount, ComposeService } from './model.ts'
import { projectPath } from './paths.ts'
import { flagAt, isMapping, listAt, refuseOthers, sizeMbAt, textAt, textsAt } from './values.ts'

export const volumeName = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/
const engineSocket = /(^|\/)(docker|containerd|podman|crio|dockershim)\.sock$/

export function readMounts(value: unknown, location: Location, service?: ComposeService): ComposeMount[] {
  return listAt(value, location).flatMap((item, index) => {
    const at = within(location, index)
    const timeFile = timeFileIn(item)
    if (timeFile && service) {
      service.timeFiles.push(timeFile)
      return []
    }
    return (isMapping(item) ? longMount(item, at) : shortMount(item, at)) ?? []
  })
}

/** Files for the machine's time zone, which reveal nothing else about it. */
const timeFiles = ['/etc/localtime', '/etc/timezone']

function timeFileIn(item: unknown): string | null {
  const { source, target, read_only } = isMapping(item) ? item : shortFields(item)
  return timeFiles.find((file) => source === file && target === file && read_only === 'true') ?? null
}

function shortFields(item: unknown): Record<string, unknown> {
  const [source, target, mode] = typeof item === 'string' ? item.split(':') : []
  return { source, target, read_only: mode === 'ro' ? 'true' : 'false' }
}

/** `tmpfs: /run` or a list of `/run:size=64m,mode=1777`. */
export function readTmpfs(value: unknown, location: Location): ComposeMount[] {
  return textsAt(value, location).flatMap((text) => {
    const [target = '', optionText = ''] = text.split(':')
    const allOptions = optionText.split(',').filter(Boolean)
    const size = allOptions.find((option) => option.startsWith('size='))?.slice('size='.length)
    const bytes = size === undefined ? null : parseBytes(size)
    if (size !== undefined && bytes === null) refuse(location, `"${size}" is not a size such as 64m`)
    const options = allOptions.filter((option) => !option.startsWith('size='))
    return tmpfs(target, bytes === null ? null : Math.ceil(bytes / 1024 ** 2), location, options) ?? []
  })
}

/** A read-only bind of a project file, for `secrets` and `configs`. */
export function fileMount(file: string, target: string, location: Location): ComposeMount | null {
  return mount('bind', file, target, true, location)
}

const tmpfsOption = new RegExp(containerPatterns.tmpfsOption)
const modes = ['ro', 'rw', 'z', 'Z', 'cached', 'delegated', 'consistent']

/** `[source:]target[:mode,…]`. A source that starts with `.`, `/` or `~` is a path; any other source is a volume name. */
function shortMount(value: unknown, location: Location): ComposeMount | null {
  const text = textAt(value, location)
  if (text === null) return null
  // The colon of a Windows drive letter is not a separator.
  const drive = /^[a-zA-Z]:[\\/]/.test(text) ? text.slice(0, 2) : ''
  const parts = text.slice(drive.length).split(':')
  if (parts.length > 3) {
    refuse(location, `"${text}" is not a volume`)
    return null
  }
  if (parts.length === 1 && !drive) return mount('volume', null, parts[0]!, false, location)
  const [source = '', target = '', mode = ''] = parts
  const options = mode.split(',').filter(Boolean)
  for (const option of options) if (!modes.includes(option)) refuse(location, `the mode "${option}" is not supported`)
  const type = drive || /^[./~\\]/.test(source) ? 'bind' : 'volume'
  return mount(type, drive + source, target, options.includes('ro'), location)
}

const longFields = ['type', 'source', 'target', 'read_only', 'consistency', 'bind', 'volume', 'tmpfs']

function longMount(fields: Record<string, unknown>, location: Location): ComposeMount | null {
  refuseOthers(fields, longFields, location)
  refuseOthers(fields.bind, ['create_host_path', 'selinux'], within(location, 'bind'))
  refuseOthers(fields.volume, ['nocopy'], within(location, 'volume'))
  if (isMapping(fields.volume) && flagAt(fields.volume.nocopy, within(location, 'volume.nocopy')))
    refuse(within(location, 'volume.nocopy'), 'is not supported: an empty volume gets the files that the image has there')
  refuseOthers(fields.tmpfs, ['size', 'mode'], within(location, 'tmpfs'))
  const read = (key: string) => textAt(fields[key], within(location, key))
  const type = read('type') ?? 'volume'
  const target = read('target') ?? ''
  const readOnly = flagAt(fields.read_only, within(location, 'read_only')) ?? false
  if (type === 'tmpfs') {
    const options = isMapping(fields.tmpfs) ? fields.tmpfs : {}
    const mode = textAt(options.mode, within(location, 'tmpfs.mode'))
    return tmpfs(target, sizeMbAt(options.size, within(location, 'tmpfs.size')), location, mode === null ? [] : [`mode=${mode}`])
  }
  if (type === 'bind') return mount('bind', read('source') ?? '', target, readOnly, location)
  if (type === 'volume') return mount('volume', read('source') || null, target, readOnly, location)
  if (type === 'npipe') refuse(within(location, 'type'), 'a pipe of the host cannot be mounted')
  else refuse(within(location, 'type'), `a mount of type "${type}" is not supported`)
  return null
}

function mount(
  type: 'volume' | 'bind',
  source: string | null,
  target: string,
  readOnly: boolean,
  location: Location,
): ComposeMount | null {
  const at = containerPath(target, location)
  if (type === 'volume' && source !== null && !volumeName.test(source)) {
    refuse(location, `"${source}" is not the name of a volume; a path of the project starts with ./`)
    return null
  }
  const path = type === 'bind' ? boundPath(source ?? '', location) : source
  if (at === null || (type === 'bind' && path === null)) return null
  return { type, source: path, target: at, readOnly }
}

function tmpfs(target: string, sizeMb: number | null, location: Location, options: string[] = []): ComposeMount | null {
  const at = containerPath(target, location)
  const others = options.filter((option) => !tmpfsOption.test(option))
  for (const option of others) refuse(location, `the option "${option.slice(0, 80)}" is not supported`)
  if (at === null || others.length > 0) return null
  const more = { ...(sizeMb === null ? {} : { sizeMb }), ...(options.length > 0 ? { options } : {}) }
  return { type: 'tmpfs', source: null, target: at, readOnly: false, ...more }
}

function boundPath(source: string, location: Location): string | null {
  if (!engineSocket.test(source)) return projectPath(source, 'the host path', location)
  refuse(location, `the engine's socket "${source}" gives control of the whole machine`)
  return null
}

function containerPath(target: string, location: Location): string | null {
  const path = posix.normalize(target)
  if (path.startsWith('/') && path !== '/' && !path.includes('\0')) return path.replace(/(?<=.)\/$/, '')
  refuse(location, `"${target}" is not a path in the container`)
  return null
}
