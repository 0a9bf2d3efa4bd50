import type { ContainerSettings } from '@berth/contract'
import type { ComposeService } from './model.ts'

const userName = /^[a-zA-Z0-9_][\w.-]{0,62}(:[a-zA-Z0-9_][\w.-]{0,62})?$/
const hostName = /^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,61}[a-zA-Z0-9])?$/

/** How the container itself is set up, where the file says more than an image does; nothing where it does not. */
export function containerOf(
  service: ComposeService,
  warn: (field: string, message: string) => void,
): { container?: ContainerSettings } {
  const {
    user,
    workingDir,
    hostname,
    stopSignal,
    stopGraceSeconds,
    shmMb,
    pidsLimit,
    readOnly,
    capDrop,
    extraHosts,
    ulimits,
    sysctls,
  } = service
  const fits = (field: string, value: string | null, pattern: RegExp) => {
    if (value === null || pattern.test(value)) return value
    warn(field, `"${value.slice(0, 80)}" is left out: it is not a valid value`)
    return null
  }
  const said: ContainerSettings = {
    user: fits('user', user, userName),
    workingDir: fits('working_dir', workingDir, /^\/[^\0-\x1f]{0,299}$/),
    hostname: fits('hostname', hostname, hostName),
    stopSignal: fits('stop_signal', stopSignal, /^(SIG)?[A-Z0-9+]{1,12}$|^\d{1,2}$/),
    stopGraceSeconds: stopGraceSeconds === null ? null : Math.min(Math.ceil(stopGraceSeconds), longestGraceSeconds),
    shmMb: shmMb === null ? null : Math.max(1, Math.min(Math.ceil(shmMb), 65_536)),
    pidsLimit: pidsLimit !== null && pidsLimit > 0 ? pidsLimit : null,
    readOnly: readOnly || null,
    capDrop: some(capDrop.filter((name) => /^[A-Z_]{1,40}$/.test(name))),
    aliases: some([...new Set(service.networks.flatMap(({ aliases }) => aliases))].filter((name) => hostName.test(name))),
    tmpfs: some(
      service.volumes.filter(({ type }) => type === 'tmpfs').map(({ target, sizeMb }) => ({ target, sizeMb: sizeMb ?? null })),
    ),
    extraHosts: some(extraHosts),
    ulimits: some(ulimits),
    sysctls: Object.keys(sysctls).length > 0 ? sysctls : null,
  }
  const entries = Object.entries(said).filter(([, value]) => value !== null)
  return entries.length > 0 ? { container: Object.fromEntries(entries) as ContainerSettings } : {}
}

/** Nobody waits longer for a project to end. */
const longestGraceSeconds = 300

const some = <Item>(items: Item[]): Item[] | null => (items.length > 0 ? items.slice(0, 100) : null)
