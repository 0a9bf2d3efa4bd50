import type { Service } from '@berth/contract'
import { mark } from './variable-mark.ts'

const reference = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/

/**
 * A service whose variable is `${NAME}` gets the project's variable NAME there, and what is named so by one service reaches
 * no other: two services may have a PASSWORD of their own. The plan holds marks in the place of the values.
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
