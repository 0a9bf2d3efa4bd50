import { type Static, Type } from 'typebox'
import { Branch } from '../git-shapes.ts'
import { limits } from '../limits.ts'
import { filledText, Id, maybe, nullable, oneOf, secret, Time, text } from '../shape.ts'
import { Slug } from './shapes.ts'

export const Environment = Type.Object({
  id: Id,
  projectId: Id,
  name: Type.String(),
  slug: Type.String(),
  type: oneOf('production', 'preview', 'development'),
  branch: maybe,
  url: maybe,
  /** Number of the pull request that created it; it is removed when the pull request closes. */
  pullRequest: nullable(Type.Integer()),
  /** Set while it is being removed. */
  deletingSince: nullable(Time),
  createdAt: Time,
})
export type Environment = Static<typeof Environment>
export const CreateEnvironment = Type.Object({
  name: filledText(80),
  slug: Type.Optional(Slug),
  type: Type.Optional(oneOf('preview', 'development')),
  branch: Type.Optional(nullable(Branch)),
  cloneFrom: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 80,
      description: 'Slug or name of an environment whose variables, secrets included, and branch are copied',
    }),
  ),
})

export const EnvKey = Type.String({ minLength: 1, maxLength: limits.envKeyCharacters, pattern: '^[A-Za-z_][A-Za-z0-9_]*$' })
export const EnvChanges = Type.Object({
  environment: Type.Optional(text(80, 1)),
  upserts: Type.Optional(
    Type.Array(
      Type.Object({
        key: EnvKey,
        value: secret(Type.String({ maxLength: limits.envValueBytes })),
        isSecret: Type.Optional(Type.Boolean()),
      }),
      { maxItems: 1000 },
    ),
  ),
  deletes: Type.Optional(Type.Array(EnvKey, { maxItems: 1000 })),
})
export type EnvChanges = Static<typeof EnvChanges>
export const EnvVariable = Type.Object({
  key: Type.String(),
  value: Type.String(),
  isSecret: Type.Boolean(),
  environment: Type.String(),
  updatedAt: Time,
})
export type EnvVariable = Static<typeof EnvVariable>
/** Shown in place of a secret value; sent back, it leaves the stored value unchanged. */
export const secretMask = '••••••••'
