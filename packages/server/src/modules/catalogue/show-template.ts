import type { CatalogueEntry, CatalogueTemplate } from '@berth/contract'
import { isSecret } from './new-values.ts'
import type { Template } from './read-template.ts'

export const showEntry = ({ id, title, description, category, version, variables, services }: Template): CatalogueEntry => ({
  id,
  title,
  description,
  category,
  version,
  variables: variables.map((variable) => ({
    name: variable.name,
    description: variable.description,
    default: variable.generate ? null : (variable.value ?? ''),
    generated: variable.generate !== undefined,
    isSecret: isSecret(variable),
  })),
  services: services.map(({ name, image, ports = [], volumes = [], exposed = false }) => ({
    name,
    image: image ?? '',
    ports,
    volumes: volumes.flatMap(({ type, source, target }) =>
      type === 'volume' && source ? [{ name: source, mountPath: target }] : [],
    ),
    exposed,
  })),
})

/** `unavailable`: why the template cannot be used on this instance; null: it can. */
export const showTemplate = (template: Template, unavailable: string | null): CatalogueTemplate => ({
  ...showEntry(template),
  links: template.links as CatalogueTemplate['links'],
  minimumMemoryMb: template.minimumMemoryMb,
  linkVariables: Object.keys(template.connection?.variables ?? {}),
  backup: template.backup ?? null,
  upgradeNotes: template.upgradeNotes,
  runsWithoutDocker: false,
  unavailable,
})

/** Whether the template contains the text in its id, title, description or category. */
export function matches(template: Template, search: string): boolean {
  const { id, title, description, category } = template
  return [id, title, description, category].some((text) => text.toLowerCase().includes(search.trim().toLowerCase()))
}
