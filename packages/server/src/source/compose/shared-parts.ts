import type { ComposeNetwork, ComposeVolume } from './model.ts'
import { volumeName } from './mounts.ts'
import { type Place, refuse, within } from './place.ts'
import { readLabels } from './service-fields.ts'
import { fieldsAt, flagAt, isMapping, listAt, pairsAt, refuseOthers, textAt } from './values.ts'

/** The file's top-level volumes and networks. */

export function readVolumes(value: unknown, place: Place): ComposeVolume[] {
  return fieldsAt(value, place).flatMap(([name, item]) => {
    const at = within(place, name)
    if (!volumeName.test(name)) {
      refuse(at, `"${name.slice(0, 80)}" is not the name of a volume`)
      return []
    }
    return readVolume(name, item, at)
  })
}

function readVolume(name: string, value: unknown, place: Place): ComposeVolume {
  const fields = Object.fromEntries(fieldsAt(value, place))
  refuseOthers(fields, ['name', 'external', 'driver', 'driver_opts', 'labels'], place)
  const driver = textAt(fields.driver, within(place, 'driver'))
  if (driver !== null && driver !== 'local')
    refuse(within(place, 'driver'), `the driver "${driver}" is not supported: volumes are local`)
  judgeDriverOptions(fields.driver_opts, within(place, 'driver_opts'))
  const { external, hostName } = readExternal(fields, place)
  if (external)
    refuse(
      within(place, 'external'),
      'a volume from outside the project is not mounted: remove the line, and the project has its own',
    )
  return { name, hostName, external, labels: readLabels(fields.labels, within(place, 'labels')) }
}

/** The local driver passes these to mount(2) on the host, where binds, disks and network shares look the same. */
function judgeDriverOptions(value: unknown, place: Place): void {
  const options = Object.fromEntries(pairsAt(value, place))
  if (Object.keys(options).length === 0) return
  if (options.type === 'tmpfs' && !options.o?.split(',').includes('bind'))
    refuse(place, 'is not supported: volumes are kept on disk. Use tmpfs of the service')
  else refuse(place, `the volume would mount "${options.device ?? options.type ?? ''}" of the host`)
}

export function readNetworks(value: unknown, place: Place): ComposeNetwork[] {
  return fieldsAt(value, place).map(([name, item]) => readNetwork(name, item, within(place, name)))
}

function readNetwork(name: string, value: unknown, place: Place): ComposeNetwork {
  const fields = Object.fromEntries(fieldsAt(value, place))
  refuseOthers(
    fields,
    ['name', 'external', 'driver', 'internal', 'attachable', 'labels', 'ipam', 'enable_ipv6', 'enable_ipv4', 'driver_opts'],
    place,
  )
  judgeAddresses(fields, place)
  const driver = textAt(fields.driver, within(place, 'driver'))
  if (driver && !['bridge', 'overlay', 'default'].includes(driver))
    refuse(within(place, 'driver'), `a network of the driver "${driver}" is not the project's own`)
  const { external, hostName } = readExternal(fields, place)
  if (external && (hostName ?? name) === 'host') refuse(place, "the host's own network cannot be joined")
  else if (external)
    refuse(
      within(place, 'external'),
      'a network from outside the project is not joined: remove the line. The edge reaches services without it',
    )
  return { name, hostName, external, internal: flagAt(fields.internal, within(place, 'internal')) ?? false }
}

/** Berth chooses the subnets of networks, so that no two projects have the same addresses. */
function judgeAddresses(fields: Record<string, unknown>, place: Place): void {
  const ipam = Object.fromEntries(fieldsAt(fields.ipam, within(place, 'ipam')))
  const driver = textAt(ipam.driver, within(place, 'ipam.driver'))
  refuseOthers(ipam, ['driver', 'config'], within(place, 'ipam'))
  if (driver !== null && driver !== 'default') refuse(within(place, 'ipam.driver'), `"${driver}" is not supported`)
  for (const [index, item] of listAt(ipam.config, within(place, 'ipam.config')).entries())
    if (isMapping(item) && Object.keys(item).length > 0)
      refuse(within(place, `ipam.config.${index}`), 'is not supported: Berth chooses the addresses of networks. Remove it')
  if (flagAt(fields.enable_ipv6, within(place, 'enable_ipv6')))
    refuse(within(place, 'enable_ipv6'), 'is not supported: networks of projects are IPv4')
  if (flagAt(fields.enable_ipv4, within(place, 'enable_ipv4')) === false)
    refuse(within(place, 'enable_ipv4'), 'is not supported: networks of projects are IPv4')
  const options = Object.keys(Object.fromEntries(pairsAt(fields.driver_opts, within(place, 'driver_opts'))))
  if (options.length > 0) refuse(within(place, 'driver_opts'), `"${options[0]}" is not supported: remove it`)
}

/** `external: true` with a `name` beside it, or the older `external: { name }`. */
function readExternal(fields: Record<string, unknown>, place: Place): { external: boolean; hostName: string | null } {
  const { external } = fields
  const name = textAt(fields.name, within(place, 'name'))
  if (isMapping(external)) return { external: true, hostName: textAt(external.name, within(place, 'external.name')) ?? name }
  return { external: flagAt(external, within(place, 'external')) ?? false, hostName: name }
}
