import { readSysctls } from './kernel-settings.ts'
import type { ComposeService } from './model.ts'
import { projectPath } from './paths.ts'
import { type Place, refuse, warn, within } from './place.ts'
import { isMapping, listAt, mayBeOn, plainText, textAt, textsAt } from './values.ts'

type Judge = (value: unknown, place: Place, service: ComposeService) => void

/** Fields of a service that can reach outside the project, each with its judge. What they leave harmless is read or warned about. */
export const refusedFields: Record<string, Judge> = {
  privileged: refusedWhenOn('a privileged container owns the machine'),
  use_api_socket: refusedWhenOn("the engine's socket would hand over the whole machine"),
  devices: refusedWhenOn('devices of the host are not handed out'),
  device_cgroup_rules: refusedWhenOn('devices of the host are not handed out'),
  gpus: refusedWhenOn('devices of the host are not handed out'),
  sysctls: readSysctls,
  cgroup_parent: refusedWhenOn('a container cannot choose its control group'),
  external_links: refusedWhenOn('containers outside the project cannot be linked'),
  provider: refusedWhenOn('a provider is a program that runs on the host'),
  network_mode: namespace('network', ['bridge', 'none', 'default']),
  pid: namespace('process', []),
  ipc: namespace('IPC', ['private', 'none', 'shareable']),
  uts: namespace('UTS', []),
  userns_mode: namespace('user', []),
  cgroup: namespace('control group', ['private']),
  cap_add: judgeCapabilities,
  security_opt: judgeSecurityOptions,
  volumes_from: judgeVolumesFrom,
  post_start: judgeHooks,
  pre_stop: judgeHooks,
  label_file: (value, place) => {
    for (const file of textsAt(value, place)) projectPath(file, 'the label file', place)
    warn(place, 'is not understood and is ignored')
  },
  credential_spec: (value, place) => {
    const file = isMapping(value) ? textAt(value.file, within(place, 'file')) : null
    if (file !== null) projectPath(file.replace(/^file:\/\//, ''), 'the credential file', within(place, 'file'))
    warn(place, 'is not understood and is ignored')
  },
}

function refusedWhenOn(reason: string): Judge {
  return (value, place) => {
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
    if (mayBeOn(value) && !isEmpty) refuse(place, reason)
  }
}

/** An allow-list: a namespace that is not the container's own or another service's belongs to the host or to somebody else. */
function namespace(kind: string, harmless: readonly string[]): Judge {
  return (value, place) => {
    const text = isMapping(value) || Array.isArray(value) ? '(not a text)' : (textAt(value, place) ?? '')
    if (text === '') return
    if (harmless.includes(text) || text.startsWith('service:')) warn(place, `"${text}" is ignored: each service has its own`)
    else refuse(place, `the ${kind} namespace "${text}" is not the container's own`)
  }
}

/** What Docker gives every container, so adding it changes nothing. */
const defaultCapabilities = new Set(
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE NET_RAW SETFCAP SETGID SETPCAP SETUID SYS_CHROOT'.split(
    ' ',
  ),
)

function judgeCapabilities(value: unknown, place: Place): void {
  if (!Array.isArray(value) && mayBeOn(value)) refuse(place, 'is not a list of capabilities')
  for (const [index, item] of listAt(value, place).entries()) {
    const name = plainText(item).toUpperCase().replace(/^CAP_/, '')
    if (!defaultCapabilities.has(name)) refuse(within(place, index), `the capability ${name} is beyond a container's usual ones`)
  }
}

function judgeSecurityOptions(value: unknown, place: Place, service: ComposeService): void {
  if (!Array.isArray(value) && mayBeOn(value)) refuse(place, 'is not a list of options')
  for (const [index, item] of listAt(value, place).entries()) {
    const at = within(place, index)
    const option = plainText(item).replace(/[:=]/, '=')
    if (/^no-new-privileges(=true)?$/.test(option)) service.noNewPrivileges = true
    else if (/^label=(user|role|type|level):/.test(option)) warn(at, 'is ignored: labels are set by the host')
    else if (option !== 'apparmor=docker-default') refuse(at, `"${plainText(item)}" would loosen the container's confinement`)
  }
}

function judgeVolumesFrom(value: unknown, place: Place): void {
  for (const [index, source] of textsAt(value, place).entries()) {
    const at = within(place, index)
    if (source.startsWith('container:')) refuse(at, `"${source}" is a container outside the project`)
    else warn(at, 'is not understood and is ignored; name the volumes instead')
  }
}

function judgeHooks(value: unknown, place: Place): void {
  for (const [index, hook] of listAt(value, place).entries())
    if (isMapping(hook) && mayBeOn(hook.privileged))
      refuse(within(place, `${index}.privileged`), 'a privileged command owns the machine')
  warn(place, 'is not understood and is ignored')
}
