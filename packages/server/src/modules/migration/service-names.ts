import type { Chosen } from './chosen-services.ts'
import { plainText } from './plain-text.ts'

export interface NamedService extends Chosen {
  /** In the project: as Compose takes it, and no other has it. */
  name: string
}

const longest = 63

/** Each service under a name of its own; `renamed` says where it is not the one that it had. */
export function nameServices(chosen: readonly Chosen[]): { services: NamedService[]; renamed: Record<string, string> } {
  const taken = new Set<string>()
  const renamed: Record<string, string> = {}
  const services = chosen.map((one) => {
    const before = one.marks?.service ?? one.container.name
    const name = freeName(before, taken)
    taken.add(name)
    if (name !== before) renamed[plainText(one.marks ? `${one.marks.project}/${before}` : before)] = name
    return { ...one, name }
  })
  return { services, renamed }
}

function freeName(before: string, taken: ReadonlySet<string>): string {
  const plain =
    before
      .replace(/[^a-zA-Z0-9_.-]+/g, '-')
      .replace(/^[^a-zA-Z0-9]+/, '')
      .slice(0, longest) || 'service'
  if (!taken.has(plain)) return plain
  for (let number = 2; ; number += 1) {
    const name = `${plain.slice(0, longest - 5)}-${number}`
    if (!taken.has(name)) return name
  }
}
