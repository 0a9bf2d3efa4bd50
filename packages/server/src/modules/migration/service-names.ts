import type { Chosen } from './chosen-services.ts'
import { plainText } from './plain-text.ts'
import { unusedName } from './unused-name.ts'

export interface NamedService extends Chosen {
  /** Name in the project: valid in Compose, and unique. */
  name: string
}

/** Leaves room for an appended number. */
const maxLength = 58

/** Gives each service a unique name; `renamed` lists the changed ones. */
export function nameServices(chosen: readonly Chosen[]): { services: NamedService[]; renamed: Record<string, string> } {
  const taken = new Set<string>()
  const renamed: Record<string, string> = {}
  const services = chosen.map((one) => {
    const before = one.labels?.service ?? one.container.name
    const name = unusedName(plainName(before), taken, '-')
    if (name !== before) renamed[plainText(one.labels ? `${one.labels.project}/${before}` : before)] = name
    return { ...one, name }
  })
  return { services, renamed }
}

const plainName = (name: string) =>
  name
    .replace(/[^a-zA-Z0-9_.-]+/g, '-')
    .replace(/^[^a-zA-Z0-9]+/, '')
    .slice(0, maxLength) || 'service'
