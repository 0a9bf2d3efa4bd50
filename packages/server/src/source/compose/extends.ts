import { type Location, refuse, within } from './location.ts'
import { projectPath } from './paths.ts'
import { isMapping, plainText, textAt } from './values.ts'

type Services = Record<string, unknown>

/** Resolves `extends` within one file: each service with its base merged into it. */
export function resolveExtends(services: Services, location: Location): Services {
  const resolved = new Map<string, unknown>()
  const budget = { nodes: maxMerged }
  try {
    for (const name of Object.keys(services)) resolveService(name, services, [], { resolved, budget }, location)
  } catch (error) {
    if (!(error instanceof MergeTooLarge)) throw error
    refuse(location, 'the services are too large after their extends are resolved')
    return {}
  }
  return Object.fromEntries(resolved)
}

export class MergeTooLarge extends Error {}

interface MergeState {
  resolved: Map<string, unknown>
  budget: { nodes: number }
}

/** Limit of merged fields and items over all services: many small services may extend a large one. */
export const maxMerged = 100_000

/** Longer than any real chain, and short enough for the stack. */
const maxChain = 20

function resolveService(name: string, services: Services, chain: string[], state: MergeState, location: Location): unknown {
  const { resolved, budget } = state
  if (resolved.has(name)) return resolved.get(name)
  const service = services[name]
  let merged = service
  if (isMapping(service) && Object.hasOwn(service, 'extends')) {
    const { extends: extended, ...overrides } = service
    const at = within(within(location, name), 'extends')
    const base = baseName(extended, at)
    merged = overrides
    if (base !== null && mayExtend(base, services, [...chain, name], at))
      merged = merge(resolveService(base, services, [...chain, name], state, location), overrides, budget)
  }
  // In a cycle, the call that started the cycle stores the result.
  if (!resolved.has(name)) resolved.set(name, merged)
  return resolved.get(name)
}

function mayExtend(base: string, services: Services, chain: string[], location: Location): boolean {
  if (!Object.hasOwn(services, base)) refuse(location, `there is no service "${base}"`)
  else if (chain.includes(base)) refuse(location, `the service extends itself: ${[...chain, base].join(' → ')}`)
  else if (chain.length >= maxChain) refuse(location, `more than ${maxChain} services extend one another`)
  else return true
  return false
}

function baseName(value: unknown, location: Location): string | null {
  if (value === undefined || value === null) return null
  const fields = isMapping(value) ? value : { service: value }
  const file = textAt(fields.file, within(location, 'file'))
  if (file === null) return textAt(fields.service, location)
  if (projectPath(file, 'the extended file', within(location, 'file')) !== null)
    refuse(location, `"${file}" could not be read: add it to the source, or copy the service into this file`)
  return null
}

/** Lists that are replaced; all other lists are appended. */
const replaced = new Set(['command', 'entrypoint', 'test'])

/** Merges `overrides` over `base`, as Compose does for `extends` and override files. */
export function merge(base: unknown, overrides: unknown, budget: MergeState['budget'], key = ''): unknown {
  budget.nodes -= 1 + sizeOf(base)
  if (budget.nodes < 0) throw new MergeTooLarge()
  if (overrides === null || overrides === undefined) return base
  if (Array.isArray(base) && Array.isArray(overrides) && !replaced.has(key) && !hasPairs(key)) return [...base, ...overrides]
  const first = mappingOf(base, key)
  const second = mappingOf(overrides, key)
  if (!first || !second) return overrides
  const keys = new Set([...Object.keys(first), ...Object.keys(second)])
  return Object.fromEntries(
    [...keys].map((name) => [name, Object.hasOwn(second, name) ? merge(first[name], second[name], budget, name) : first[name]]),
  )
}

/** Size of the whole value: a part that is shared by reference is read once per service. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 1 + value.length / 100
  if (typeof value !== 'object' || value === null) return 1
  let size = 1
  for (const item of Array.isArray(value) ? value : Object.values(value)) size += sizeOf(item)
  return size
}

const hasPairs = (key: string) => ['environment', 'labels', 'args', 'depends_on', 'networks'].includes(key)

/** A field may be a list in one service and a mapping in the other. */
function mappingOf(value: unknown, key: string): Services | null {
  if (isMapping(value)) return value
  if (!Array.isArray(value) || !hasPairs(key)) return null
  return Object.fromEntries(
    value.map((item) => {
      const [name = '', ...rest] = plainText(item).split('=')
      return [name, rest.length === 0 ? null : rest.join('=')]
    }),
  )
}
