import { type ContainerSettings, containerPatterns, maxProcesses, maxStopSeconds } from '@berth/contract'
import type { ComposeService } from './model.ts'
import { networksOf } from './service-networks.ts'

type Pattern = keyof typeof containerPatterns
type Refuse = (field: string, message: string) => void

const matches = (pattern: Pattern) => (value: string) => new RegExp(containerPatterns[pattern]).test(value)

/** Container settings of the file beyond those of an image; empty without any. */
export function containerOf(
  service: ComposeService,
  internal: ReadonlySet<string>,
  refuse: Refuse,
): { container?: ContainerSettings } {
  const { stopGraceSeconds, shmMb, pidsLimit, memoryReservationMb, sysctls, volumes } = service
  const validText = (field: string, value: string | null, pattern: Pattern) => {
    if (value === null || matches(pattern)(value)) return value
    refuse(field, `"${value.slice(0, 80)}" is not a valid value`)
    return null
  }
  const validTexts = (field: string, values: string[], pattern: Pattern) =>
    nonEmpty(
      values.flatMap((value) => validText(field, value, pattern) ?? []),
      () => refuse(field, 'has more than 100 lines'),
    )
  const withMaximum = (field: string, value: number | null, max: number, unit: string) => {
    if (value !== null && value > max) refuse(field, `${value}${unit} is more than the maximum of ${max}${unit}`)
    return value === null || value > max ? null : value
  }
  const settings: ContainerSettings = {
    user: validText('user', service.user, 'user'),
    workingDir: validText('working_dir', service.workingDir, 'path'),
    hostname: validText('hostname', service.hostname, 'hostname'),
    domainname: validText('domainname', service.domainname, 'hostOfAddress'),
    stopSignal: validText('stop_signal', service.stopSignal, 'stopSignal'),
    stopGraceSeconds: withMaximum('stop_grace_period', ceil(stopGraceSeconds), maxStopSeconds, ' s'),
    shmMb: withMaximum('shm_size', shmMb === null ? null : Math.max(1, Math.ceil(shmMb)), 65_536, ' MB'),
    pidsLimit: withMaximum('pids_limit', pidsLimit !== null && pidsLimit > 0 ? pidsLimit : null, maxProcesses, ''),
    memoryReservationMb: memoryReservationMb === null ? null : Math.max(6, Math.ceil(memoryReservationMb)),
    platform: validText('platform', service.platform, 'platform'),
    init: service.init || null,
    tty: service.tty || null,
    stdinOpen: service.stdinOpen || null,
    readOnly: service.readOnly || null,
    capDrop: validTexts('cap_drop', service.capDrop, 'capability'),
    capAdd: nonEmpty([...new Set(service.capAdd)]) as ContainerSettings['capAdd'],
    aliases: validTexts('container_name', service.containerName === null ? [] : [service.containerName], 'alias'),
    networks: networksOf(service, internal, refuse),
    groups: validTexts('group_add', service.groups, 'group'),
    dns: validTexts('dns', service.dns, 'address'),
    dnsSearch: validTexts('dns_search', service.dnsSearch, 'hostOfAddress'),
    dnsOptions: validTexts('dns_opt', service.dnsOptions, 'dnsOption'),
    tmpfs: nonEmpty(
      volumes
        .filter(({ type }) => type === 'tmpfs')
        .map(({ target, sizeMb, options }) => ({ target, sizeMb: sizeMb ?? null, ...(options ? { options } : {}) })),
    ),
    timeFiles: nonEmpty([...new Set(service.timeFiles)]) as ContainerSettings['timeFiles'],
    extraHosts: nonEmpty(service.extraHosts),
    ulimits: nonEmpty(service.ulimits),
    sysctls: Object.keys(sysctls).length > 0 ? sysctls : null,
  }
  const entries = Object.entries(settings).filter(([, value]) => value !== null && value !== undefined)
  return entries.length > 0 ? { container: Object.fromEntries(entries) as ContainerSettings } : {}
}

const ceil = (value: number | null) => (value === null ? null : Math.ceil(value))

function nonEmpty<Item>(items: Item[], onTooMany?: () => void): Item[] | null {
  if (items.length > 100) onTooMany?.()
  return items.length > 0 ? items.slice(0, 100) : null
}
