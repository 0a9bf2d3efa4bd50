import { type ContainerSettings, containerPatterns, longestStopSeconds } from '@berth/contract'
import type { ComposeService } from './model.ts'

const is = (pattern: keyof typeof containerPatterns) => (value: string) => new RegExp(containerPatterns[pattern]).test(value)

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
  const fits = (field: string, value: string | null, pattern: keyof typeof containerPatterns) => {
    if (value === null || is(pattern)(value)) return value
    warn(field, `"${value.slice(0, 80)}" is left out: it is not a valid value`)
    return null
  }
  const said: ContainerSettings = {
    user: fits('user', user, 'user'),
    workingDir: fits('working_dir', workingDir, 'path'),
    hostname: fits('hostname', hostname, 'hostname'),
    stopSignal: fits('stop_signal', stopSignal, 'stopSignal'),
    stopGraceSeconds: stopGraceSeconds === null ? null : Math.min(Math.ceil(stopGraceSeconds), longestStopSeconds),
    shmMb: shmMb === null ? null : Math.max(1, Math.min(Math.ceil(shmMb), 65_536)),
    pidsLimit: pidsLimit !== null && pidsLimit > 0 ? pidsLimit : null,
    readOnly: readOnly || null,
    capDrop: some(capDrop.filter(is('capability'))),
    aliases: some([...new Set(service.networks.flatMap(({ aliases }) => aliases))].filter(is('hostname'))),
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

const some = <Item>(items: Item[]): Item[] | null => (items.length > 0 ? items.slice(0, 100) : null)
