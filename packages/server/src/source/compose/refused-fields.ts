import { addableCapabilities } from '@berth/contract'
import { readSysctls } from './kernel-settings.ts'
import { type Location, refuse, warn, within } from './location.ts'
import type { ComposeService } from './model.ts'
import { isMapping, listAt, mayBeOn, plainText, textAt } from './values.ts'

type Validator = (value: unknown, location: Location, service: ComposeService) => void

/** Service fields that can reach outside the project, each with its check. Harmless values are read or produce a warning. */
export const refusedFields: Record<string, Validator> = {
  privileged: refuseIfSet('a privileged container would control the whole machine'),
  use_api_socket: refuseIfSet("the engine's socket gives control of the whole machine"),
  devices: refuseIfSet('containers have no access to devices of the host'),
  device_cgroup_rules: refuseIfSet('containers have no access to devices of the host'),
  gpus: refuseIfSet('containers have no access to devices of the host'),
  sysctls: readSysctls,
  cgroup_parent: refuseIfSet('a container cannot choose its control group'),
  external_links: refuseIfSet('containers outside the project cannot be linked'),
  provider: refuseIfSet('a provider is a program that runs on the host'),
  network_mode: validateNetworkMode,
  pid: namespace('process', []),
  ipc: namespace('IPC', ['private', 'shareable']),
  uts: namespace('UTS', []),
  userns_mode: namespace('user', []),
  cgroup: namespace('control group', ['private']),
  cap_add: validateCapabilities,
  security_opt: validateSecurityOptions,
  post_start: validateHooks,
  pre_stop: validateHooks,
  label_file: refuseIfSet('is not supported: write the labels under labels'),
  credential_spec: refuseIfSet('is not supported: it is for Windows'),
  pull_policy: validatePullPolicy,
}

/** An existing image is not pulled again, so that a restarted deployment runs the same one. */
function validatePullPolicy(value: unknown, location: Location): void {
  const policy = textAt(value, location)
  if (policy === null || ['missing', 'if_not_present', 'build'].includes(policy)) return
  if (policy === 'never') refuse(location, '"never" is not supported: a missing image is always pulled')
  else refuse(location, `"${policy}" is not supported: name the version in the tag of the image, and change it to update`)
}

function validateNetworkMode(value: unknown, location: Location, service: ComposeService): void {
  const mode = isMapping(value) || Array.isArray(value) ? '(not a text)' : (textAt(value, location) ?? '')
  if (mode === 'none' || mode === 'bridge') service.networkMode = mode
  else if (mode.startsWith('service:'))
    refuse(location, `"${mode}" is not supported: each service has a network of its own. Reach the other service by its name`)
  else if (mode !== '' && mode !== 'default') refuse(location, `the network namespace "${mode}" is not the container's own`)
}

function refuseIfSet(reason: string): Validator {
  return (value, location) => {
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
    if (mayBeOn(value) && !isEmpty) refuse(location, reason)
  }
}

/** Allow-list check: a namespace other than the container's own belongs to the host or to another container. */
function namespace(kind: string, harmless: readonly string[]): Validator {
  return (value, location) => {
    const text = isMapping(value) || Array.isArray(value) ? '(not a text)' : (textAt(value, location) ?? '')
    if (text === '') return
    if (harmless.includes(text)) return
    if (text.startsWith('service:')) refuse(location, `"${text}" is not supported: each service has its own ${kind} namespace`)
    else refuse(location, `the ${kind} namespace "${text}" is not the container's own`)
  }
}

/** Capabilities that every container already has. */
const defaultCapabilities = new Set('CHOWN DAC_OVERRIDE FOWNER FSETID KILL NET_BIND_SERVICE SETGID SETUID'.split(' '))
const addable = new Set<string>(addableCapabilities)

function validateCapabilities(value: unknown, location: Location, service: ComposeService): void {
  if (!Array.isArray(value) && mayBeOn(value)) refuse(location, 'is not a list of capabilities')
  for (const [index, item] of listAt(value, location).entries()) {
    const name = plainText(item).toUpperCase().replace(/^CAP_/, '')
    if (addable.has(name)) service.capAdd.push(name)
    else if (!defaultCapabilities.has(name))
      refuse(within(location, index), `the capability ${name} is not one that a container may have`)
  }
}

function validateSecurityOptions(value: unknown, location: Location, service: ComposeService): void {
  if (!Array.isArray(value) && mayBeOn(value)) refuse(location, 'is not a list of options')
  for (const [index, item] of listAt(value, location).entries()) {
    const at = within(location, index)
    const option = plainText(item).replace(/[:=]/, '=')
    if (/^no-new-privileges(=true)?$/.test(option)) service.noNewPrivileges = true
    else if (/^label=(user|role|type|level):/.test(option)) warn(at, 'is ignored: labels are set by the host')
    else if (option !== 'apparmor=docker-default') refuse(at, `"${plainText(item)}" would loosen the container's confinement`)
  }
}

function validateHooks(value: unknown, location: Location): void {
  for (const [index, hook] of listAt(value, location).entries())
    if (isMapping(hook) && mayBeOn(hook.privileged))
      refuse(within(location, `${index}.privileged`), 'a privileged command would control the whole machine')
  refuse(location, 'is not supported: run the command in the entrypoint of the service')
}
