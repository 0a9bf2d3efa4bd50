import type { Service } from '@berth/contract'
import { mark } from './variable-mark.ts'

const reference = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/

/**
 * Resolves project variables in services. A service with `${NAME}` gets the project's variable NAME there; a variable that one
 * service references is passed to no other, so two services may each have a PASSWORD. The plan contains placeholders for the
 * values.
 */
export function withVariables(
  services: readonly Service[],
  variables: readonly string[],
): { services: Service[]; ownVariables: string[] } {
  const known = new Set(variables)
  const named = new Set<string>()
  const filled = (value: string): string => {
    const name = reference.exec(value)?.[1]
    if (name === undefined || !known.has(name)) return value
    named.add(name)
    return mark(name)
  }
  const marked = services.map((service) => ({
    ...service,
    ...(service.environment
      ? { environment: Object.fromEntries(Object.entries(service.environment).map(([key, value]) => [key, filled(value)])) }
      : {}),
  }))
  return { services: marked, ownVariables: [...named].sort() }
}
