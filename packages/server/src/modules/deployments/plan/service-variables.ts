import type { Service } from '@berth/contract'
import { placeholder } from './placeholder.ts'

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
  const projectVariables = new Set(variables)
  const referenced = new Set<string>()
  const withPlaceholder = (value: string): string => {
    const name = reference.exec(value)?.[1]
    if (name === undefined || !projectVariables.has(name)) return value
    referenced.add(name)
    return placeholder(name)
  }
  const resolved = services.map((service) => ({
    ...service,
    ...(service.environment
      ? {
          environment: Object.fromEntries(
            Object.entries(service.environment).map(([key, value]) => [key, withPlaceholder(value)]),
          ),
        }
      : {}),
  }))
  return { services: resolved, ownVariables: [...referenced].sort() }
}
