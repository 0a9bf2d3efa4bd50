import { type ContainerSettings, containerPatterns } from '@berth/contract'
import type { ComposeFile, ComposeService } from './model.ts'

const isAlias = (alias: string) => new RegExp(containerPatterns.alias).test(alias)
const isNetwork = (name: string) => new RegExp(containerPatterns.network).test(name)

/** Networks without access to the outside. */
export const internalNetworks = ({ networks }: ComposeFile): ReadonlySet<string> =>
  new Set(networks.filter(({ internal }) => internal).map(({ name }) => name))

/** The network of services with `network_mode: bridge`, separate from the project's other networks. */
const bridge = 'bridge.'

/** The networks that a service joins. Null: only the default one, without settings. */
export function networksOf(
  { networks, networkMode }: ComposeService,
  internal: ReadonlySet<string>,
  refuse: (field: string, message: string) => void,
): ContainerSettings['networks'] | null {
  if (networkMode !== null && networks.length > 0) refuse('network_mode', 'conflicts with networks: keep one of them')
  if (networkMode === 'none') return []
  if (networkMode === 'bridge') return [{ name: bridge }]
  const joined = networks.length > 0 ? networks : [{ name: 'default', aliases: [] }]
  for (const { name, aliases } of joined) {
    if (!isNetwork(name)) refuse('networks', `"${name.slice(0, 80)}" is not a valid network name`)
    for (const alias of aliases) if (!isAlias(alias)) refuse('networks', `"${alias.slice(0, 80)}" is not a host name`)
  }
  const isPlain =
    joined.length === 1 && joined[0]?.name === 'default' && joined[0].aliases.length === 0 && !internal.has('default')
  if (isPlain) return null
  return joined.map(({ name, aliases }) => ({
    name,
    ...(aliases.length > 0 ? { aliases: [...new Set(aliases)] } : {}),
    ...(internal.has(name) ? { internal: true } : {}),
  }))
}
