import { type Static, Type } from 'typebox'
import { limits } from '../limits.ts'
import { levels } from '../permissions.ts'
import { CreateEnvironment, EnvKey } from '../projects/environment-shapes.ts'
import { CreateRule } from '../projects/rule-shapes.ts'
import { CreateProject, ProjectOptions, Resources, Slug } from '../projects/shapes.ts'
import { DomainName, filledText, nullable, oneOf, Time, text } from '../shape.ts'

const { gitProvider, gitOwner, gitRepo, gitBranch, gitUrl } = CreateProject.properties

/**
 * A project in a transfer bundle, with the API's field names: the target validates it with the same schemas and rules as a request.
 * It contains secrets in plain text, so it is stored and sent only encrypted.
 */
export const ProjectBundle = Type.Object({
  name: filledText(100),
  slug: Slug,
  enabled: Type.Boolean(),
  createdAt: Type.Optional(Time),
  options: ProjectOptions,
  resources: Type.Pick(Resources, ['production', 'build']),
  previewsUseProduction: Type.Boolean(),
  /** `upload`: its files are in the bundle. */
  source: Type.Object({
    kind: oneOf('git', 'upload', 'image', 'none'),
    ...{ gitProvider, gitOwner, gitRepo, gitBranch, gitUrl },
    /**
     * The upload is a copy of a local folder on the instance that sends or that receives the project, and no other upload was
     * deployed since.
     */
    isFolderCopy: Type.Optional(Type.Boolean()),
    /** The name of `isFolderCopy` in bundles of older versions. */
    ofFolder: Type.Optional(Type.Boolean()),
  }),
  cloneToken: nullable(text(10_000, 1)),
  environments: Type.Array(
    Type.Object({
      ...CreateEnvironment.properties,
      type: Type.Optional(oneOf('preview', 'production', 'development')),
      slug: Slug,
      variables: Type.Array(
        Type.Object({
          key: EnvKey,
          value: Type.String({ maxLength: limits.envValueBytes }),
          isSecret: Type.Boolean(),
        }),
        { maxItems: 5000 },
      ),
    }),
    { minItems: 1, maxItems: 100 },
  ),
  domains: Type.Array(Type.Object({ hostname: DomainName, primary: Type.Boolean() }), { maxItems: 100 }),
  rules: Type.Array(CreateRule, { maxItems: 1000 }),
  /** Grants by the user's e-mail address. Absent in bundles of older versions. */
  grants: Type.Optional(Type.Array(Type.Object({ email: text(320, 3), level: oneOf(...levels) }), { maxItems: 1000 })),
  /** Where git hosts send webhooks; `hostname` null: the project's free host name. */
  webhookDomain: Type.Optional(nullable(Type.Object({ hostname: nullable(DomainName) }))),
  /** Values of detected fields; the others were set by a user. */
  detected: Type.Optional(Type.Record(text(100), Type.Union([text(500), Type.Integer(), Type.Null()]))),
  /** Whether the project had a live deployment, and its commit. */
  deployed: nullable(Type.Object({ commit: nullable(Type.String({ pattern: '^[0-9a-f]{40,64}$' })) })),
})
export type ProjectBundle = Static<typeof ProjectBundle>
