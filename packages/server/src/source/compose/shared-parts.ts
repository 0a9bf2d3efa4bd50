import type { ComposeNetwork, ComposeVolume } from './model.ts'
import { volumeName } from './mounts.ts'
import { type Place, refuse, warn, within } from './place.ts'
import { readLabels } from './service-fields.ts'
import { fieldsAt, flagAt, isMapping, pairsAt, textAt, warnOfOthers } from './values.ts'

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
  warnOfOthers(fields, ['name', 'external', 'driver', 'driver_opts', 'labels'], place)
  const driver = textAt(fields.driver, within(place, 'driver'))
  if (driver !== null && driver !== 'local')
    warn(within(place, 'driver'), `the driver "${driver}" is not used; the volume is a local one`)
  judgeDriverOptions(fields.driver_opts, within(place, 'driver_opts'))
  const { external, hostName } = readExternal(fields, place)
  if (external) warn(within(place, 'external'), 'a volume from outside the project is not mounted; the project gets its own')
  return { name, hostName, external, labels: readLabels(fields.labels, within(place, 'labels')) }
}

/** The local driver hands these to mount(2) on the host: a bind, a disk and a network share all look the same there. */
function judgeDriverOptions(value: unknown, place: Place): void {
  const options = Object.fromEntries(pairsAt(value, place))
  if (Object.keys(options).length === 0) return
  if (options.type === 'tmpfs' && !options.o?.split(',').includes('bind')) warn(place, 'is ignored: the volume is kept on disk')
  else refuse(place, `the volume would mount "${options.device ?? options.type ?? ''}" of the host`)
}

export function readNetworks(value: unknown, place: Place): ComposeNetwork[] {
  return fieldsAt(value, place).map(([name, item]) => readNetwork(name, item, within(place, name)))
}

function readNetwork(name: string, value: unknown, place: Place): ComposeNetwork {
  const fields = Object.fromEntries(fieldsAt(value, place))
  warnOfOthers(fields, ['name', 'external', 'driver', 'internal', 'attachable', 'labels'], place)
  const driver = textAt(fields.driver, within(place, 'driver'))
  if (driver && !['bridge', 'overlay', 'default'].includes(driver))
    refuse(within(place, 'driver'), `a network of the driver "${driver}" is not the project's own`)
  const { external, hostName } = readExternal(fields, place)
  if (external && (hostName ?? name) === 'host') refuse(place, "the host's own network cannot be joined")
  else if (external) warn(within(place, 'external'), 'a network from outside the project is not joined; the project gets its own')
  return { name, hostName, external, internal: flagAt(fields.internal, within(place, 'internal')) ?? false }
}

/** `external: true` with a `name` beside it, or the older `external: { name }`. */
function readExternal(fields: Record<string, unknown>, place: Place): { external: boolean; hostName: string | null } {
  const { external } = fields
  const name = textAt(fields.name, within(place, 'name'))
  if (isMapping(external)) return { external: true, hostName: textAt(external.name, within(place, 'external.name')) ?? name }
  return { external: flagAt(external, within(place, 'external')) ?? false, hostName: name }
}
