import { limits } from '@berth/contract'
import { fillTemplate, type Reference, referencesIn, replaceReferences, templateVariablesIn } from './references.ts'

/** A project whose variables are resolved, with its links by the slug of the service. */
export interface VariableScope {
  /** Identifies the project and its environment. */
  id: string
  slug: string
  values: Readonly<Record<string, string>>
  secretKeys: ReadonlySet<string>
  links: readonly ScopeLink[]
}

/** A link of a scope. */
export interface ScopeLink {
  id: string
  slug: string
  prefix: string
  host: string
  port: number
  /** Link variables of the service's template. */
  variables: Readonly<Record<string, string>>
  service: VariableScope
}

export interface Resolved {
  value: string
  isSecret: boolean
}

/** A variable cannot be resolved. The message names variables and projects, and no value. */
export class UnresolvedVariable extends Error {
  override readonly name = 'UnresolvedVariable'
}

/**
 * The variables of a scope with link variables added and references replaced. A variable of the project takes precedence over
 * one of a link. Throws `UnresolvedVariable`.
 */
export function resolveVariables(scope: VariableScope): ReadonlyMap<string, Resolved> {
  const resolver = new Resolver()
  const fromLinks = scope.links.flatMap((link) =>
    Object.keys(link.variables).map((name) => [`${link.prefix}${name}`, resolver.linkVariable(link, name, [])] as const),
  )
  const own = Object.keys(scope.values).map((name) => [name, resolver.variable(scope, name, [])] as const)
  return new Map([...fromLinks, ...own])
}

/** A variable that is being resolved. */
interface Step {
  key: string
  /** Name in error messages. */
  label: string
}

const maxSteps = 100

/** Resolves each variable once. `path` lists the variables that are being resolved, to detect a cycle. */
class Resolver {
  readonly #resolved = new Map<string, Resolved>()

  variable(scope: VariableScope, name: string, path: readonly Step[]): Resolved {
    const label = `${scope.slug}.${name}`
    return this.#once(`variable ${scope.id}/${name}`, label, path, (inner) => {
      const text = scope.values[name] as string
      const found = referencesIn(text).map((reference) => this.#referenced(scope, name, reference, inner))
      let at = 0
      return {
        value: replaceReferences(text, () => found[at++]?.value ?? ''),
        isSecret: scope.secretKeys.has(name) || found.some(({ isSecret }) => isSecret),
      }
    })
  }

  linkVariable(link: ScopeLink, name: string, path: readonly Step[]): Resolved {
    return this.#once(`link ${link.id}/${name}`, `${link.slug}.${name}`, path, (inner) => {
      const text = link.variables[name] as string
      const parts = new Map(templateVariablesIn(text).map((part) => [part, this.#part(link, part, name, inner)]))
      return {
        value: fillTemplate(text, (part) => parts.get(part)?.value ?? ''),
        isSecret: [...parts.values()].some(({ isSecret }) => isSecret),
      }
    })
  }

  #part(link: ScopeLink, part: string, name: string, path: readonly Step[]): Resolved {
    if (part === 'HOST') return { value: link.host, isSecret: false }
    if (part === 'PORT') return { value: String(link.port), isSecret: false }
    if (Object.hasOwn(link.service.values, part)) return this.variable(link.service, part, path)
    throw new UnresolvedVariable(
      `${name} of the linked service ${link.slug} needs its variable ${part}, which does not exist. Set ${part} in ${link.slug}.`,
    )
  }

  #referenced(scope: VariableScope, name: string, { slug, name: wanted }: Reference, path: readonly Step[]): Resolved {
    const link = scope.links.find((one) => one.slug === slug)
    if (!link)
      throw new UnresolvedVariable(
        `The variable ${name} of ${scope.slug} refers to \${{ ${slug}.${wanted} }}, but ${scope.slug} has no link to ${slug}. Link it with: berth link ${scope.slug} ${slug}`,
      )
    if (Object.hasOwn(link.variables, wanted)) return this.linkVariable(link, wanted, path)
    if (Object.hasOwn(link.service.values, wanted)) return this.variable(link.service, wanted, path)
    if (wanted === 'HOST' || wanted === 'PORT') return this.#part(link, wanted, name, path)
    throw new UnresolvedVariable(
      `The variable ${name} of ${scope.slug} refers to \${{ ${slug}.${wanted} }}, but ${slug} has no variable ${wanted}.`,
    )
  }

  #once(key: string, label: string, path: readonly Step[], resolve: (path: readonly Step[]) => Resolved): Resolved {
    const known = this.#resolved.get(key)
    if (known) return known
    const start = path.findIndex((step) => step.key === key)
    if (start >= 0) {
      const labels = [...path.slice(start), { label }].map((step) => step.label)
      throw new UnresolvedVariable(`Variables refer to each other in a cycle: ${labels.join(' → ')}`)
    }
    if (path.length >= maxSteps)
      throw new UnresolvedVariable(`${path[0]?.label} needs more than ${maxSteps} references in a row. Shorten the chain.`)
    const resolved = resolve([...path, { key, label }])
    // Nested references could grow without bound.
    if (Buffer.byteLength(resolved.value) > limits.envValueBytes)
      throw new UnresolvedVariable(`${label} would have more than ${limits.envValueBytes} bytes with its references replaced.`)
    this.#resolved.set(key, resolved)
    return resolved
  }
}
