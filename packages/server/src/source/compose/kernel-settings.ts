import { containerPatterns, harmlessSysctls, maxUlimit, minUlimitOf, sysctlPattern, type UlimitName } from '@berth/contract'
import { type Location, refuse, within } from './location.ts'
import type { ComposeService } from './model.ts'
import { isMapping, pairsAt, textAt, textsAt } from './values.ts'

/** `extra_hosts`, `ulimits` and `sysctls`: host names and kernel settings of a container. */

const hostName = new RegExp(containerPatterns.hostOfAddress)
const address = new RegExp(containerPatterns.address)
const hostAddress = new RegExp(containerPatterns.withheldAddress)

export function readExtraHosts(value: unknown, location: Location): ComposeService['extraHosts'] {
  const lines = isMapping(value) ? pairsAt(value, location).map(([name, at]) => `${name}=${at ?? ''}`) : textsAt(value, location)
  if (lines.length > 100) refuse(location, 'has more than 100 lines')
  return lines.slice(0, 100).flatMap((line, index) => {
    const at = within(location, index)
    const [, name = '', to = ''] = /^([^=:]+)[=:](.*)$/.exec(line) ?? []
    const addressText = to.replace(/^\[|\]$/g, '')
    if (refuseHostAddress(addressText, at)) return []
    if (!hostName.test(name) || !address.test(addressText)) {
      refuse(at, `"${line.slice(0, 100)}" is not of the form name:address`)
      return []
    }
    return [{ name, address: addressText }]
  })
}

function refuseHostAddress(addressText: string, at: Location): boolean {
  const isHostAddress = addressText === 'host-gateway' || hostAddress.test(addressText)
  if (isHostAddress)
    refuse(at, `"${addressText}" is not supported: a project does not reach the machine it runs on. Remove the line`)
  return isHostAddress
}

export const readDnsServers = (value: unknown, location: Location): string[] =>
  textsAt(value, location).filter((server, index) => !refuseHostAddress(server, within(location, index)))

const isLimit = (name: string): name is UlimitName => Object.hasOwn(maxUlimit, name)

export function readUlimits(value: unknown, location: Location): ComposeService['ulimits'] {
  const fields = isMapping(value) ? Object.entries(value) : []
  return fields.flatMap(([name, limit]) => {
    const at = within(location, name)
    if (!isLimit(name)) {
      refuse(at, 'is not supported: limits are set by cpus, mem_limit and pids_limit')
      return []
    }
    const max = maxUlimit[name]
    const numberAt = (item: unknown) => Number(textAt(item, at) ?? Number.NaN)
    const [soft, hard] = isMapping(limit)
      ? [numberAt(limit.soft), numberAt(limit.hard ?? limit.soft)]
      : [numberAt(limit), numberAt(limit)]
    const isNumber = [soft, hard].every((number) => Number.isInteger(number) && number >= -1)
    if (!isNumber) {
      refuse(at, 'is not a whole number')
      return []
    }
    const min = minUlimitOf(name)
    const outOfRange = [soft, hard].find((number) => number < min || number > max)
    if (outOfRange !== undefined) {
      refuse(at, `${outOfRange} is not between ${min} and ${max}`)
      return []
    }
    return [{ name, soft, hard }]
  })
}

const harmless = new Set<string>(harmlessSysctls)

export function readSysctls(value: unknown, location: Location, service: ComposeService): void {
  for (const [name, setting] of pairsAt(value, location)) {
    const at = within(location, name)
    if (!harmless.has(name)) refuse(at, "is a setting of the machine's kernel, which a container may not change")
    else if (setting === null || !new RegExp(sysctlPattern(name)).test(setting))
      refuse(at, name.startsWith('net.ipv6.') ? 'can only be 1: networks of projects are IPv4' : 'is not a number')
    else service.sysctls = { ...service.sysctls, [name]: setting }
  }
}
