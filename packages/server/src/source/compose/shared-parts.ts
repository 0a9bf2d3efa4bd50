import { type Location, refuse, within } from './location.ts'
import type { ComposeNetwork, ComposeVolume } from './model.ts'
import { volumeName } from './mounts.ts'
import { readLabels } from './service-fields.ts'
import { fieldsAt, flagAt, isMapping, listAt, pairsAt, refuseOthers, textAt } from './values.ts'

/** The file's top-level volumes and networks. */

export function readVolumes(value: unknown, location: Location): ComposeVolume[] {
  return fieldsAt(value, location).flatMap(([name, item]) => {
    const at = within(location, name)
    if (!volumeName.test(name)) {
      refuse(at, `"${name.slice(0, 80)}" is not a valid volume name`)
      return []
    }
    return readVolume(name, item, at)
  })
}

function readVolume(name: string, value: unknown, location: Location): ComposeVolume {
  const fields = Object.fromEntries(fieldsAt(value, location))
  refuseOthers(fields, ['name', 'external', 'driver', 'driver_opts', 'labels'], location)
  const driver = textAt(fields.driver, within(location, 'driver'))
  if (driver !== null && driver !== 'local')
    refuse(within(location, 'driver'), `the driver "${driver}" is not supported: volumes are local`)
  validateDriverOptions(fields.driver_opts, within(location, 'driver_opts'))
  const { external, hostName } = readExternal(fields, location)
  if (external)
    refuse(within(location, 'external'), 'an external volume is not mounted: remove the line to get a volume of the project')
  return { name, hostName, external, labels: readLabels(fields.labels, within(location, 'labels')) }
}

/** The local driver passes these to mount(2) on the host, where binds, disks and network shares look the same. */
function validateDriverOptions(value: unknown, location: Location): void {
  const options = Object.fromEntries(pairsAt(value, location))
  if (Object.keys(options).length === 0) return
  if (options.type === 'tmpfs' && !options.o?.split(',').includes('bind'))
    refuse(location, 'is not supported: volumes are kept on disk. Use tmpfs of the service')
  else refuse(location, `the volume would mount "${options.device ?? options.type ?? ''}" of the host`)
}

export function readNetworks(value: unknown, location: Location): ComposeNetwork[] {
  return fieldsAt(value, location).map(([name, item]) => readNetwork(name, item, within(location, name)))
}

function readNetwork(name: string, value: unknown, location: Location): ComposeNetwork {
  const fields = Object.fromEntries(fieldsAt(value, location))
  refuseOthers(
    fields,
    ['name', 'external', 'driver', 'internal', 'attachable', 'labels', 'ipam', 'enable_ipv6', 'enable_ipv4', 'driver_opts'],
    location,
  )
  validateAddresses(fields, location)
  const driver = textAt(fields.driver, within(location, 'driver'))
  if (driver && !['bridge', 'overlay', 'default'].includes(driver))
    refuse(within(location, 'driver'), `network driver "${driver}" is not supported; use bridge, or remove the line`)
  const { external, hostName } = readExternal(fields, location)
  if (external && (hostName ?? name) === 'host') refuse(location, "the host's own network cannot be joined")
  else if (external)
    refuse(
      within(location, 'external'),
      'an external network is not joined: remove the line. The edge reaches services without it',
    )
  return { name, hostName, external, internal: flagAt(fields.internal, within(location, 'internal')) ?? false }
}

/** Berth chooses the subnets of networks, so that no two projects have the same addresses. */
function validateAddresses(fields: Record<string, unknown>, location: Location): void {
  const ipam = Object.fromEntries(fieldsAt(fields.ipam, within(location, 'ipam')))
  const driver = textAt(ipam.driver, within(location, 'ipam.driver'))
  refuseOthers(ipam, ['driver', 'config'], within(location, 'ipam'))
  if (driver !== null && driver !== 'default') refuse(within(location, 'ipam.driver'), `"${driver}" is not supported`)
  for (const [index, item] of listAt(ipam.config, within(location, 'ipam.config')).entries())
    if (isMapping(item) && Object.keys(item).length > 0)
      refuse(within(location, `ipam.config.${index}`), 'is not supported: Berth chooses the addresses of networks. Remove it')
  if (flagAt(fields.enable_ipv6, within(location, 'enable_ipv6')))
    refuse(within(location, 'enable_ipv6'), 'is not supported: networks of projects are IPv4')
  if (flagAt(fields.enable_ipv4, within(location, 'enable_ipv4')) === false)
    refuse(within(location, 'enable_ipv4'), 'is not supported: networks of projects are IPv4')
  const options = Object.keys(Object.fromEntries(pairsAt(fields.driver_opts, within(location, 'driver_opts'))))
  if (options.length > 0) refuse(within(location, 'driver_opts'), `"${options[0]}" is not supported: remove it`)
}

/** `external: true` with a `name` beside it, or the older `external: { name }`. */
function readExternal(fields: Record<string, unknown>, location: Location): { external: boolean; hostName: string | null } {
  const { external } = fields
  const name = textAt(fields.name, within(location, 'name'))
  if (isMapping(external)) return { external: true, hostName: textAt(external.name, within(location, 'external.name')) ?? name }
  return { external: flagAt(external, within(location, 'external')) ?? false, hostName: name }
}
