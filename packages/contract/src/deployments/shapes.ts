import { type Static, Type } from 'typebox'
import { Branch } from '../git-shapes.ts'
import { Id, nullable, oneOf, pageQuery, Time, text } from '../shape.ts'
import { deploymentStatuses } from '../states.ts'

export { deploymentStatuses }

export const DeploymentTrigger = oneOf('manual', 'push', 'pull_request', 'rollback', 'redeploy', 'restore', 'transfer')
export type DeploymentTrigger = Static<typeof DeploymentTrigger>

export const DeploymentStep = Type.Object({
  name: Type.String(),
  status: oneOf('pending', 'running', 'succeeded', 'failed', 'skipped', 'cancelled'),
  startedAt: nullable(Time),
  finishedAt: nullable(Time),
})
export type DeploymentStep = Static<typeof DeploymentStep>

export const DeploymentCommit = Type.Object({
  sha: Type.String(),
  message: nullable(Type.String()),
  author: nullable(Type.String()),
})
export type DeploymentCommit = Static<typeof DeploymentCommit>

/** Why it failed: the message, and the last lines that the build or the app wrote. */
export const DeploymentFailure = Type.Object({
  code: Type.String(),
  message: Type.String(),
  logTail: Type.Array(Type.String()),
})
export type DeploymentFailure = Static<typeof DeploymentFailure>

/** How a deployment was built and is run: the settings, and detected values where a setting is empty. */
export const DeploymentPlan = Type.Object({
  type: oneOf('app', 'static', 'worker', 'services'),
  framework: nullable(Type.String()),
  packageManager: nullable(Type.String()),
  installCommand: nullable(Type.String()),
  buildCommand: nullable(Type.String()),
  startCommand: nullable(Type.String()),
  outputDirectory: nullable(Type.String()),
  port: nullable(Type.Integer({ description: 'The port that the app listens on; null where it answers no requests itself' })),
  branch: nullable(Type.String()),
})
export type DeploymentPlan = Static<typeof DeploymentPlan>

/** The source a deployment was built from; the commit is a separate field. */
export const DeploymentSource = Type.Object({
  kind: oneOf('git', 'local', 'upload', 'image', 'none'),
  url: nullable(Type.String({ description: 'The git remote' })),
  branch: nullable(Type.String()),
  uploadSessionId: nullable(Type.String({ description: 'The upload that was built' })),
})
export type DeploymentSource = Static<typeof DeploymentSource>

export const Deployment = Type.Object({
  id: Id,
  projectId: Id,
  environment: Type.String(),
  number: Type.Integer(),
  trigger: DeploymentTrigger,
  status: oneOf(...deploymentStatuses),
  commit: nullable(DeploymentCommit),
  source: Type.Optional(DeploymentSource),
  image: nullable(Type.String()),
  sizeBytes: nullable(Type.Integer()),
  url: nullable(Type.String()),
  steps: Type.Array(DeploymentStep),
  requestsDuringSwitch: nullable(Type.Object({ total: Type.Integer(), failed: Type.Integer() })),
  error: nullable(DeploymentFailure),
  warnings: Type.Optional(Type.Array(Type.String(), { description: 'Problems that do not stop the deployment' })),
  plan: nullable(DeploymentPlan),
  createdAt: Time,
  startedAt: nullable(Time),
  finishedAt: nullable(Time),
  createdBy: nullable(Id),
})
export type Deployment = Static<typeof Deployment>

const names = (description: string) => Type.Array(Type.String(), { description })

/** The differences between a deployment and the version that was live before it. Values of variables are never included. */
export const DeploymentChanges = Type.Object({
  previous: nullable(
    Type.Object(
      { id: Id, number: Type.Integer(), commit: nullable(DeploymentCommit) },
      { description: 'The version that was live before' },
    ),
  ),
  variables: nullable(
    Type.Object(
      {
        added: names('Variables that the previous version did not have'),
        changed: names('Variables with another value'),
        removed: names('Variables that it no longer has'),
      },
      { description: 'Names of the variables that differ; null if they are not recorded' },
    ),
  ),
  settings: Type.Array(
    Type.Object({
      name: Type.String({ description: 'The setting, as in the config of the project' }),
      from: nullable(Type.String({ description: 'The previous value; null if it was not set or is not a single value' })),
      to: nullable(Type.String({ description: 'The value; null if it is not set or is not a single value' })),
    }),
    { description: 'Settings that differ' },
  ),
})
export type DeploymentChanges = Static<typeof DeploymentChanges>

const Slug = text(80, 1)

export const BuildBody = Type.Object({
  projectId: Id,
  environment: Type.Optional(Slug),
  branch: Type.Optional(Branch),
  commit: Type.Optional(Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' })),
  uploadSessionId: Type.Optional(Id),
  force: Type.Optional(Type.Boolean()),
})
export type BuildBody = Static<typeof BuildBody>

export const RestartBody = Type.Object({ environment: Type.Optional(Slug) })

export const StartedDeployment = Type.Object({ deploymentId: Id, projectId: Id, streamUrl: Type.String() })
export type StartedDeployment = Static<typeof StartedDeployment>

export const DeploymentsQuery = Type.Object({
  ...pageQuery,
  projectId: Type.Optional(Id),
  environment: Type.Optional(Slug),
  status: Type.Optional(oneOf(...deploymentStatuses)),
})
export type DeploymentsQuery = Static<typeof DeploymentsQuery>

/** `id` resumes the stream when sent back as Last-Event-ID. */
export const DeploymentLogLine = Type.Object({
  id: Type.String(),
  time: Time,
  step: nullable(Type.String()),
  stream: oneOf('stdout', 'stderr', 'system'),
  message: Type.String(),
})
export type DeploymentLogLine = Static<typeof DeploymentLogLine>
