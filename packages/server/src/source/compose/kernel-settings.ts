import { containerPatterns, harmlessSysctls, mostOfUlimit, type UlimitName } from '@berth/contract'
import type { ComposeService } from './model.ts'
import { type Place, refuse, warn, within } from './place.ts'
import { isMapping, pairsAt, textAt, textsAt } from './values.ts'

/** `extra_hosts`, `ulimits` and `sysctls`: what a container may say about its own names and its own kernel settings. */

const hostName = new RegExp(containerPatterns.hostOfAddress)
const address = new RegExp(containerPatterns.address)
const withheld = new RegExp(containerPatterns.withheldAddress)

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

const isLimit = (name: string): name is UlimitName => Object.hasOwn(mostOfUlimit, name)

export function readUlimits(value: unknown, place: Place): ComposeService['ulimits'] {
  const fields = isMapping(value) ? Object.entries(value) : []
  return fields.flatMap(([name, limit]) => {
    const at = within(place, name)
    if (!isLimit(name)) {
      warn(at, 'is not followed: limits are set by cpus, memory and pids')
      return []
    }
    const most = mostOfUlimit[name]
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

const harmless = new Set<string>(harmlessSysctls)
const number = new RegExp(containerPatterns.sysctl)

export function readSysctls(value: unknown, place: Place, service: ComposeService): void {
  for (const [name, setting] of pairsAt(value, place)) {
    const at = within(place, name)
    if (!harmless.has(name)) refuse(at, "is a setting of the machine's kernel, which is not for a container to change")
    else if (setting === null || !number.test(setting)) warn(at, 'is not a number and is left out')
    else service.sysctls = { ...service.sysctls, [name]: setting }
  }
}
