import { type Static, Type } from 'typebox'
import { Branch } from '../git-shapes.ts'
import { filledText, Id, nullable, Time, text } from '../shape.ts'

/** A deploy hook: a secret URL that deploys the project when it is called. */
export const DeployHook = Type.Object({
  id: Id,
  name: Type.String(),
  branch: nullable(Type.String({ description: "Branch that a call deploys; null: the environment's own" })),
  environment: Type.String({ description: 'Slug of the environment that a call deploys' }),
  lastUsedAt: nullable(Time),
  createdAt: Time,
})
export type DeployHook = Static<typeof DeployHook>

/** Only the response that creates a hook contains its URL. */
export const NewDeployHook = Type.Object({
  ...DeployHook.properties,
  url: Type.String({ description: 'Address to call with POST; shown once' }),
})

export const DeployHookBody = Type.Object({
  name: filledText(100),
  branch: Type.Optional(nullable(Branch)),
  environment: Type.Optional(nullable(text(80, 1))),
})
export type DeployHookBody = Static<typeof DeployHookBody>

export const HookDeployment = Type.Object({ deploymentId: Id })
