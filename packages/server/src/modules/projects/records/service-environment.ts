import { type Service, secretMask } from '@berth/contract'
import { refuse } from '../../../platform/failure.ts'

/** Services as reads show them: a Compose file often holds passwords, so each value is masked. */
export const maskedServices = (services: readonly Service[]): Service[] =>
  services.map((service) =>
    service.environment
      ? { ...service, environment: Object.fromEntries(Object.keys(service.environment).map((name) => [name, secretMask])) }
      : service,
  )

/** A mask sent back stands for the stored value of the same service and variable; the mask itself is never stored. */
export function withStoredValues<Body extends { services?: Service[] | null }>(body: Body, stored: readonly Service[]): Body {
  if (!body.services) return body
  const services = body.services.map((service, index) => {
    if (!service.environment) return service
    const before = stored.find(({ name }) => name === service.name)?.environment ?? {}
    const environment = Object.entries(service.environment).map(([name, value]) => {
      if (value !== secretMask) return [name, value]
      const storedValue = Object.hasOwn(before, name) ? before[name] : undefined
      return [name, storedValue ?? refuse(`services.${index}.environment.${name}`, 'is a masked value, but no value is stored')]
    })
    return { ...service, environment: Object.fromEntries(environment) }
  })
  return { ...body, services }
}
