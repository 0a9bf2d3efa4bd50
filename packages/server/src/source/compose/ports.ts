import { type Location, refuse, warn, within } from './location.ts'
import type { ComposePort, ComposeProtocol } from './model.ts'
import { isMapping, listAt, refuseOthers, textAt } from './values.ts'

/** A range longer than this is a mistake or an attack; each port of it would be a listener. */
const maxRange = 100

export function readPorts(value: unknown, location: Location): ComposePort[] {
  return limitItems(listAt(value, location), location).flatMap((item, index) =>
    isMapping(item) ? longPort(item, within(location, index)) : shortPort(item, within(location, index)),
  )
}

export function readExpose(value: unknown, location: Location): { target: number; protocol: ComposeProtocol }[] {
  return limitItems(listAt(value, location), location).flatMap((item, index) => {
    const at = within(location, index)
    const [range, protocol] = rangeAndProtocol(textAt(item, at) ?? '', at)
    return (range ?? []).map((target) => ({ target, protocol }))
  })
}

/** Maximum number of lines; each may be a range. */
const maxLines = 200

function limitItems(items: unknown[], location: Location): unknown[] {
  if (items.length > maxLines) refuse(location, `has more than ${maxLines} lines`)
  return items.slice(0, maxLines)
}

/** `[[ip:]published:]target[/protocol]`, where ports may be ranges and an IPv6 address may stand in brackets. */
function shortPort(value: unknown, location: Location): ComposePort[] {
  const text = textAt(value, location)
  if (text === null) return []
  const parts = text.split(':')
  const last = parts.pop()!
  const published = parts.pop() ?? ''
  const hostIp = parts.join(':').replace(/^\[(.*)\]$/, '$1')
  return combinePorts(hostIp, published, last, location)
}

function longPort(fields: Record<string, unknown>, location: Location): ComposePort[] {
  refuseOthers(fields, ['target', 'published', 'host_ip', 'protocol', 'mode', 'name', 'app_protocol'], location)
  const read = (key: string) => textAt(fields[key], within(location, key)) ?? ''
  const protocol = read('protocol')
  return combinePorts(read('host_ip'), read('published'), protocol ? `${read('target')}/${protocol}` : read('target'), location)
}

function combinePorts(hostIp: string, publishedText: string, targetText: string, location: Location): ComposePort[] {
  const [targets, protocol] = rangeAndProtocol(targetText, location)
  const published = publishedText === '' ? [] : parseRange(publishedText)
  if (!targets) return []
  if (!published) {
    refuse(location, `"${publishedText}" is not a port of the host, or a range of more than ${maxRange}`)
    return []
  }
  if (published.length > 1 && published.length !== targets.length) {
    // Compose uses any free port of a longer range. Here the first is used, so that the user knows it.
    if (targets.length > 1) refuse(location, 'the two port ranges differ in length')
    else warn(location, `only the first port of "${publishedText}" is used`)
  }
  const count = published.length === 0 ? targets.length : Math.min(targets.length, published.length)
  return targets
    .slice(0, count)
    .map((target, index) => ({ hostIp: hostIp || null, published: published[index] ?? null, target, protocol }))
}

function rangeAndProtocol(text: string, location: Location): [number[] | null, ComposeProtocol] {
  const [ports = '', protocol = 'tcp', ...rest] = text.split('/')
  const range = parseRange(ports)
  const isSupported = protocol === 'tcp' || protocol === 'udp' || protocol === 'sctp'
  if (range && isSupported && rest.length === 0) return [range, protocol]
  refuse(location, `"${text}" is not a port, or a range of more than ${maxRange}`)
  return [null, 'tcp']
}

function parseRange(text: string): number[] | null {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text)
  if (!match) return null
  const first = Number(match[1])
  const last = Number(match[2] ?? first)
  if (first < 1 || last > 65535 || last < first || last - first >= maxRange) return null
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}
