import { type Static, Type } from 'typebox'
import { filledText, nullable, oneOf, pageQuery, secret, text } from '../shape.ts'

export const catalogueCategories = [
  'databases',
  'caches',
  'queues',
  'storage',
  'search',
  'dashboards',
  'analytics',
  'automation',
  'wikis',
  'websites',
  'development',
  'monitoring',
  'mail',
] as const
export const CatalogueCategory = oneOf(...catalogueCategories)
export type CatalogueCategory = Static<typeof CatalogueCategory>

export const TemplateVariable = Type.Object({
  name: Type.String({ description: 'Name of the variable' }),
  description: Type.String({ description: 'What the variable sets' }),
  default: nullable(Type.String({ description: 'Value if the request sets none; null: generated' })),
  generated: Type.Boolean({ description: 'Whether Berth generates a value if the request sets none' }),
  isSecret: Type.Boolean({ description: 'Whether the value is never shown again' }),
})
export type TemplateVariable = Static<typeof TemplateVariable>

export const TemplateService = Type.Object({
  name: Type.String({ description: 'Name of the service in the project' }),
  image: Type.String({ description: 'Image with its pinned version' }),
  ports: Type.Array(Type.Integer(), { description: 'Ports that the service listens on' }),
  volumes: Type.Array(Type.Object({ name: Type.String(), mountPath: Type.String() }), {
    description: 'Volumes with their paths',
  }),
  exposed: Type.Boolean({ description: 'Whether the service gets the address of the project' }),
})
export type TemplateService = Static<typeof TemplateService>

export const CatalogueEntry = Type.Object({
  id: Type.String({ description: 'Id of the template, such as `postgres`' }),
  title: Type.String({ description: 'Name of the software' }),
  description: Type.String({ description: 'What the software is for' }),
  category: Type.Unsafe<CatalogueCategory>({ ...CatalogueCategory, description: 'Category in the catalogue' }),
  version: Type.String({ description: 'Version of the software' }),
  variables: Type.Array(TemplateVariable, { description: 'Variables of the new project' }),
  services: Type.Array(TemplateService, { description: 'Services of the new project' }),
})
export type CatalogueEntry = Static<typeof CatalogueEntry>

export const CatalogueTemplate = Type.Object({
  ...CatalogueEntry.properties,
  links: Type.Object(
    {
      website: Type.String({ description: 'Website of the software' }),
      docs: Type.String({ description: 'Its documentation' }),
      image: Type.String({ description: 'Documentation of the image' }),
    },
    { description: 'Documentation of the software' },
  ),
  minimumMemoryMb: Type.Integer({ description: 'Memory that the software needs, in MB' }),
  linkVariables: Type.Array(Type.String(), { description: 'Variables that a linked project gets; empty: cannot be linked' }),
  backup: {
    ...nullable(
      Type.Object({
        cronExpression: Type.String({ description: 'Schedule of the backups' }),
        proveEveryDays: Type.Integer({ description: 'Days between two test restores of a backup' }),
        retainCount: Type.Integer({ description: 'Number of backups that are kept' }),
      }),
    ),
    description: 'Backup policy of the new project; null: it stores nothing',
  },
  upgradeNotes: Type.String({ description: 'What to do before another version is used' }),
  runsWithoutDocker: Type.Boolean({ description: 'Whether it also runs as a plain process' }),
  unavailable: nullable(Type.String({ description: 'Why the template cannot be used on this instance; null: it can' })),
})
export type CatalogueTemplate = Static<typeof CatalogueTemplate>

export const CatalogueQuery = Type.Object({
  ...pageQuery,
  search: Type.Optional(Type.String({ maxLength: 100, description: 'Only templates containing this text' })),
  category: Type.Optional(
    Type.Unsafe<CatalogueCategory>({ ...CatalogueCategory, description: 'Only templates of this category' }),
  ),
})
export type CatalogueQuery = Static<typeof CatalogueQuery>

export const AddTemplate = Type.Object({
  name: Type.Optional(nullable({ ...filledText(100), description: 'Name of the project; default: the title of the template' })),
  variables: Type.Optional({
    ...nullable(
      secret(Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,255}$' }), text(4000), { maxProperties: 100 })),
    ),
    description: 'Values of variables of the template; the others get their default, or a generated value',
  }),
})
export type AddTemplate = Static<typeof AddTemplate>
