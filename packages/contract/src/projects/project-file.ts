import { type Static, Type } from 'typebox'
import { text } from '../shape.ts'
import { ProjectOptions, ResourceSides, Slug } from './shapes.ts'

/** `berth.json`: the settings of a project, stored with its source. An unknown key is an error. */
export const ProjectFile = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    name: Type.Optional(text(100, 1)),
    slug: Type.Optional(Slug),
    ...ProjectOptions.properties,
    resources: Type.Optional(Type.Object(ResourceSides.properties, { additionalProperties: false })),
  },
  { additionalProperties: false },
)
export type ProjectFile = Static<typeof ProjectFile>
