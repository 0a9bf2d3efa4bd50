import { type ContainerSettings, containerPatterns, maxProcesses, maxStopSeconds } from '@berth/contract'
import type { ComposeService } from './model.ts'
import { networksOf } from './service-networks.ts'

type Pattern = keyof typeof containerPatterns
type Refuse = (field: string, message: string) => void

const is = (pattern: Pattern) => (value: string) => new RegExp(containerPatterns[pattern]).test(value)

/** Container settings of the file beyond those of an image; empty without any. */
export function containerOf(
  service: ComposeService,
  internal: ReadonlySet<string>,
  refuse: Refuse,
): { container?: ContainerSettings } {
  const { stopGraceSeconds, shmMb, pidsLimit, memoryReservationMb, sysctls, volumes } = service
  const one = (field: string, value: string | null, pattern: Pattern) => {
    if (value === null || is(pattern)(value)) return value
    refuse(field, `"${value.slice(0, 80)}" is not a valid value`)
    return null
  }
  const all = (field: string, values: string[], pattern: Pattern) =>
    some(
      values.flatMap((value) => one(field, value, pattern) ?? []),
      () => refuse(field, 'has more than 100 lines'),
    )
  const atMost = (field: string, value: number | null, max: number, unit: string) => {
    if (value !== null && value > max) refuse(field, `${value}${unit} is more than is given: at most ${max}${unit}`)
    return value === null || value > max ? null : value
  }
  const reported: ContainerSettings = {
    user: one('user', service.user, 'user'),
    workingDir: one('working_dir', service.workingDir, 'path'),
    hostname: one('hostname', service.hostname, 'hostname'),
    domainname: one('domainname', service.domainname, 'hostOfAddress'),
    stopSignal: one('stop_signal', service.stopSignal, 'stopSignal'),
    stopGraceSeconds: atMost('stop_grace_period', ceil(stopGraceSeconds), maxStopSeconds, ' s'),
    shmMb: atMost('shm_size', shmMb === null ? null : Math.max(1, Math.ceil(shmMb)), 65_536, ' MB'),
    pidsLimit: atMost('pids_limit', pidsLimit !== null && pidsLimit > 0 ? pidsLimit : null, maxProcesses, ''),
    memoryReservationMb: memoryReservationMb === null ? null : Math.max(6, Math.ceil(memoryReservationMb)),
    platform: one('platform', service.platform, 'platform'),
    init: service.init || null,
    tty: service.tty || null,
    stdinOpen: service.stdinOpen || null,
    readOnly: service.readOnly || null,
    capDrop: all('cap_drop', service.capDrop, 'capability'),
    capAdd: some([...new Set(service.capAdd)]) as ContainerSettings['capAdd'],
    aliases: all('container_name', service.containerName === null ? [] : [service.containerName], 'alias'),
    networks: networksOf(service, internal, refuse),
    groups: all('group_add', service.groups, 'group'),
    dns: all('dns', service.dns, 'address'),
    dnsSearch: all('dns_search', service.dnsSearch, 'hostOfAddress'),
    dnsOptions: all('dns_opt', service.dnsOptions, 'dnsOption'),
    tmpfs: some(
      volumes
        .filter(({ type }) => type === 'tmpfs')
        .map(({ target, sizeMb, options }) => ({ target, sizeMb: sizeMb ?? null, ...(options ? { options } : {}) })),
    ),
    timeFiles: some([...new Set(service.timeFiles)]) as ContainerSettings['timeFiles'],
    extraHosts: some(service.extraHosts),
    ulimits: some(service.ulimits),
    sysctls: Object.keys(sysctls).length > 0 ? sysctls : null,
  }
  const entries = Object.entries(reported).filter(([, value]) => value !== null && value !== undefined)
  return entries.length > 0 ? { container: Object.fromEntries(entries) as ContainerSettings } : {}
}

const ceil = (value: number | null) => (value === null ? null : Math.ceil(value))

function some<Item>(items: Item[], onTooMany?: () => void): Item[] | null {
  if (items.length > 100) onTooMany?.()
  return items.length > 0 ? items.slice(0, 100) : null
}
