import { type Static, Type } from 'typebox'
import { limits } from '../limits.ts'
import { text } from '../shape.ts'
import { CronJobInFile } from '../tasks/shapes.ts'
import { ProjectOptions, ResourceSides, relativePath, Slug } from './shapes.ts'

/** `berth.json`: the settings of a project, stored with its source. An unknown key is an error. */
export const ProjectFile = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    name: Type.Optional(text(100, 1)),
    slug: Type.Optional(Slug),
    ...ProjectOptions.properties,
    cronJobs: Type.Optional(Type.Array(CronJobInFile, { maxItems: limits.tasksOfProject })),
    resources: Type.Optional(Type.Object(ResourceSides.properties, { additionalProperties: false })),
  },
  { additionalProperties: false },
)
export type ProjectFile = Static<typeof ProjectFile>

const { $schema, ...projectFields } = ProjectFile.properties

/** `berth.json` of a repository with several projects. `rootDirectory` is the folder of each, from the folder of the file. */
export const ProjectsFile = Type.Object(
  {
    $schema,
    projects: Type.Array(
      Type.Object({ ...projectFields, name: text(100, 1), rootDirectory: relativePath(200) }, { additionalProperties: false }),
      { minItems: 1, maxItems: 100 },
    ),
  },
  { additionalProperties: false },
)
export type ProjectsFile = Static<typeof ProjectsFile>
