import type { Chosen } from './chosen-services.ts'
import { plainText } from './plain-text.ts'
import { unusedName } from './unused-name.ts'

export interface NamedService extends Chosen {
  /** In the project: as Compose takes it, and no other has it. */
  name: string
}

/** Room for a number behind it. */
const longest = 58

/** Each service under a name of its own; `renamed` says where it is not the one that it had. */
export function nameServices(chosen: readonly Chosen[]): { services: NamedService[]; renamed: Record<string, string> } {
  const taken = new Set<string>()
  const renamed: Record<string, string> = {}
  const services = chosen.map((one) => {
    const before = one.marks?.service ?? one.container.name
    const name = unusedName(plainName(before), taken, '-')
    if (name !== before) renamed[plainText(one.marks ? `${one.marks.project}/${before}` : before)] = name
    return { ...one, name }
  })
  return { services, renamed }
}

const plainName = (name: string) =>
  name
    .replace(/[^a-zA-Z0-9_.-]+/g, '-')
    .replace(/^[^a-zA-Z0-9]+/, '')
    .slice(0, longest) || 'service'
