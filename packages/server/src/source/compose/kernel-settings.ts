import type { ComposeService } from './model.ts'
import { type Place, refuse, warn, within } from './place.ts'
import { isMapping, pairsAt, textAt, textsAt } from './values.ts'

/** `extra_hosts`, `ulimits` and `sysctls`: what a container may say about its own names and its own kernel settings. */

const hostName = /^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?$/
const address = /^[0-9a-fA-F:.]{2,45}$/
/** The container itself, and what only the machine's own network answers: no name leads there. */
const withheld = /^(?:127\.|0\.|169\.254\.|::1$|::$|fe[89ab][0-9a-f]:|::ffff:)/i

export function readExtraHosts(value: unknown, place: Place): ComposeService['extraHosts'] {
  const lines = isMapping(value) ? pairsAt(value, place).map(([name, at]) => `${name}=${at ?? ''}`) : textsAt(value, place)
  return lines.slice(0, 100).flatMap((line, index) => {
    const at = within(place, index)
    const [, name = '', to = ''] = /^([^=:]+)[=:](.*)$/.exec(line) ?? []
    const plain = to.replace(/^\[|\]$/g, '')
    if (plain === 'host-gateway' || withheld.test(plain)) {
      warn(at, `"${plain}" is left out: the machine is not reached from a project`)
      return []
    }
    if (!hostName.test(name) || !address.test(plain)) {
      warn(at, `"${line.slice(0, 100)}" is not of the form name:address and is left out`)
      return []
    }
    return [{ name, address: plain }]
  })
}

/** The most of each that a container is given. */
const mostOf: Record<ComposeService['ulimits'][number]['name'], number> = {
  nofile: 1_048_576,
  nproc: 65_536,
  core: 0,
  stack: 67_108_864,
  memlock: 67_108_864,
}

const isLimit = (name: string): name is keyof typeof mostOf => Object.hasOwn(mostOf, name)

export function readUlimits(value: unknown, place: Place): ComposeService['ulimits'] {
  const fields = isMapping(value) ? Object.entries(value) : []
  return fields.flatMap(([name, limit]) => {
    const at = within(place, name)
    if (!isLimit(name)) {
      warn(at, 'is not followed: limits are set by cpus, memory and pids')
      return []
    }
    const most = mostOf[name]
    const numberAt = (item: unknown) => Number(textAt(item, at) ?? Number.NaN)
    const [soft, hard] = isMapping(limit)
      ? [numberAt(limit.soft), numberAt(limit.hard ?? limit.soft)]
      : [numberAt(limit), numberAt(limit)]
    const isNumber = [soft, hard].every((one) => Number.isInteger(one) && one >= -1)
    if (!isNumber) {
      warn(at, 'is not a whole number and is left out')
      return []
    }
    const bounded = (one: number) => (one === -1 || one > most ? most : one)
    if (bounded(hard) !== hard) warn(at, `${hard} is more than is given; ${most} is used`)
    return [{ name, soft: Math.min(bounded(soft), bounded(hard)), hard: bounded(hard) }]
  })
}

/** Settings of the container's own network namespace: nobody else's connections feel them. */
const harmless = new Set([
  'net.core.somaxconn',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_max_syn_backlog',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.tcp_tw_reuse',
  'net.ipv6.conf.all.disable_ipv6',
  'net.ipv6.conf.default.disable_ipv6',
])

export function readSysctls(value: unknown, place: Place, service: ComposeService): void {
  for (const [name, setting] of pairsAt(value, place)) {
    const at = within(place, name)
    if (!harmless.has(name)) refuse(at, "is a setting of the machine's kernel, which is not for a container to change")
    else if (setting === null || !/^[\d ]{1,40}$/.test(setting)) warn(at, 'is not a number and is left out')
    else service.sysctls = { ...service.sysctls, [name]: setting }
  }
}
