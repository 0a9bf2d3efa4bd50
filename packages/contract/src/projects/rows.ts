import { Type } from 'typebox'
import { Deployment, deploymentStatuses } from '../deployments/shapes.ts'
import { Branch, CloneCredential, CommitStatus, GitLink, LinkedRepository, ProjectBranch } from '../git-shapes.ts'
import { route } from '../route.ts'
import { DomainName, data, list, nullable, oneOf, PageQuery, pageQuery, secret, text, wholeList } from '../shape.ts'
import { domainRows } from './domain-rows.ts'
import { ConnectDomain, Domain } from './domain-shapes.ts'
import { CreateEnvironment, EnvChanges, Environment, EnvVariable } from './environment-shapes.ts'
import { logRows } from './log-rows.ts'
import { Metrics, MetricsQuery } from './metric-shapes.ts'
import { ruleRows } from './rule-rows.ts'
import {
  CreateProject,
  DeletionPreview,
  DeletionReport,
  DeploymentSession,
  EnsureProject,
  EnvironmentDeletionPreview,
  EnvironmentDeletionReport,
  ImportFields,
  LocalProject,
  Project,
  ProjectInfo,
  ProjectOptions,
  ProjectRoute,
  Resources,
  ResourcesBody,
  SleepMode,
  takesScan,
  UpdateProject,
} from './shapes.ts'
import { Detection, StoredUpload, tarballUpload, UploadHints, UploadSession } from './upload-shapes.ts'

const Path = text(4000, 1)
const Enabled = Type.Object({ enabled: Type.Boolean() })
const on = { on: 'project' } as const
const read = { permission: 'project:read', ...on } as const
const write = { permission: 'project:write', ...on } as const
const admin = { permission: 'project:admin', ...on } as const

/** References in a project's source: an upload, a server, and a folder of the machine, which only an operator may name. */
const sources = {
  names: { uploadSessionId: 'uploadSession', serverId: 'server' },
  operator: [{ field: 'localPath' }],
} as const

const TransferBody = Type.Object({
  withData: Type.Optional(Type.Boolean({ default: true, description: 'Whether volumes are transferred too' })),
})
const Transferred = Type.Object({
  data: Type.Object({ projectId: Type.String(), location: oneOf('local', 'cloud') }),
  warnings: Type.Array(Type.String(), {
    description: 'Parts that were not transferred, or have no effect at the target: volumes, grants, edge rules, deploy on push',
  }),
})

/** The projects section of the spec, in its order. */
export const projects = {
  list: route('GET /projects', {
    permission: 'project:list',
    projectTokens: 'filtered',
    query: Type.Object({ ...pageQuery, q: Type.Optional(text(100)) }),
    returns: list(Project),
    summary: "The organisation's projects, newest first",
  }),
  create: route('POST /projects', {
    permission: 'project:write',
    ...sources,
    status: 201,
    body: CreateProject,
    returns: data(Project),
    errors: ['slug_taken', 'not_found'],
    summary: 'Record a project; nothing is deployed',
  }),
  home: route('GET /projects/home', {
    permission: 'project:list',
    projectTokens: 'filtered',
    returns: Type.Object({
      data: Type.Array(Project),
      cloud: Type.Object({ linked: Type.Boolean(), reachable: Type.Boolean() }),
    }),
    summary: 'Local and cloud projects in one list',
  }),
  ensure: route('POST /projects/ensure', {
    ...write,
    ...sources,
    inBody: 'projectId',
    status: 200,
    alsoStatus: 201,
    body: EnsureProject,
    returns: data(Project),
    errors: ['slug_taken', 'not_found'],
    summary: 'Update the project that `projectId` names, or create one',
  }),
  listFrameworks: route('GET /frameworks', {
    permission: 'project:list',
    returns: wholeList(Type.Object({ id: Type.String() })),
    summary: 'The frameworks that can be detected or set as `framework`',
  }),
  listLocal: route('GET /projects/local', {
    permission: 'project:list',
    projectTokens: 'filtered',
    selfHostedOnly: true,
    query: PageQuery,
    returns: list(LocalProject),
    summary: 'Projects whose source is a folder on this machine',
  }),
  scan: route('POST /projects/scan', {
    permission: 'project:write',
    operator: true,
    selfHostedOnly: true,
    body: Type.Object({ path: Path }),
    returns: data(Detection),
    errors: ['source_unreadable'],
    summary: 'Scan a local folder and detect how to build it',
  }),
  importFolder: route('POST /projects/import', {
    permission: 'project:write',
    names: sources.names,
    operator: true,
    selfHostedOnly: true,
    status: 201,
    body: Type.Object({ ...ImportFields.properties, path: Path }, takesScan),
    returns: data(Project),
    errors: ['slug_taken', 'not_found', 'source_unreadable'],
    summary: 'Create a project from a local folder',
  }),
  get: route('GET /projects/:id', { ...read, returns: data(Project), summary: 'Config, source, routes and status' }),
  update: route('PATCH /projects/:id', {
    ...write,
    ...sources,
    body: UpdateProject,
    returns: data(Project),
    errors: ['slug_taken', 'not_found'],
    summary: 'Change any field of the create body',
  }),
  remove: route('DELETE /projects/:id', {
    ...admin,
    query: Type.Object({ force: Type.Optional(Type.Boolean()), deleteVolumes: Type.Optional(Type.Boolean()) }),
    returns: data(DeletionReport),
    errors: ['work_in_progress'],
    summary: 'Delete the project; volumes are kept unless `deleteVolumes` is set',
  }),
  info: route('GET /projects/:id/info', { ...read, returns: data(ProjectInfo), summary: 'Runtime, build and source in detail' }),
  deletionPreview: route('GET /projects/:id/deletion-preview', {
    ...read,
    returns: data(DeletionPreview),
    summary: 'List the items that deleting would remove or keep',
  }),
  listEnvironments: route('GET /projects/:id/environments', {
    ...read,
    query: PageQuery,
    returns: list(Environment),
    summary: 'Production first, then the previews',
  }),
  createEnvironment: route('POST /projects/:id/environments', {
    ...write,
    status: 201,
    body: CreateEnvironment,
    returns: data(Environment),
    errors: ['slug_taken'],
    summary: 'Create an environment',
  }),
  removeEnvironment: route('DELETE /projects/:id/environments/:environment', {
    permission: 'project:admin',
    on: 'environment',
    query: Type.Object({ force: Type.Optional(Type.Boolean()), deleteVolumes: Type.Optional(Type.Boolean()) }),
    returns: data(EnvironmentDeletionReport),
    errors: ['work_in_progress', 'conflict'],
    summary: 'Delete an environment other than production; volumes are kept unless `deleteVolumes` is set',
  }),
  environmentDeletionPreview: route('GET /projects/:id/environments/:environment/deletion-preview', {
    permission: 'project:read',
    on: 'environment',
    returns: data(EnvironmentDeletionPreview),
    errors: ['conflict'],
    summary: 'List the items that deleting the environment would remove or keep',
  }),
  setPreviewVariables: route('POST /projects/:id/preview-variables', {
    confirm: true,
    ...admin,
    body: Type.Object({ fromProduction: Type.Boolean() }),
    returns: data(Project),
    summary: "Set whether the previews of pull requests also get production's variables, secrets included",
  }),
  setOptions: route('POST /projects/:id/options', {
    ...write,
    body: ProjectOptions,
    returns: data(Project),
    summary: 'Set build and deploy options',
  }),
  enable: route('POST /projects/:id/enable', { ...write, returns: data(Project), summary: 'Allow deploys and bring it online' }),
  disable: route('POST /projects/:id/disable', {
    confirm: true,
    ...write,
    returns: data(Project),
    summary: 'Pause deploys and take it offline',
  }),
  retryRouting: route('POST /projects/:id/routing/retry', {
    ...write,
    returns: data(Type.Object({ routes: Type.Array(ProjectRoute) })),
    summary: 'Sync the edge route again, without a rebuild',
  }),
  listEnv: route('GET /projects/:id/env', {
    ...read,
    query: Type.Object({ environment: Type.Optional(text(80, 1)) }),
    returns: wholeList(EnvVariable),
    summary: 'Variables; secret values are masked',
  }),
  changeEnv: route('PATCH /projects/:id/env', {
    confirm: ['deletes'],
    ...write,
    body: EnvChanges,
    returns: wholeList(EnvVariable),
    summary: 'Set and delete variables; other keys are not changed',
  }),
  getCloneToken: route('GET /projects/:id/clone-token', {
    ...read,
    returns: data(CloneCredential),
    summary: 'Whether a git clone credential is set; never its value',
  }),
  setCloneToken: route('PATCH /projects/:id/clone-token', {
    ...admin,
    body: Type.Object({ token: secret(nullable(text(4000, 1))) }),
    returns: data(CloneCredential),
    summary: 'Set, replace or remove the git clone credential',
  }),
  getGit: route('GET /projects/:id/git', {
    ...read,
    returns: data(LinkedRepository),
    errors: ['not_found', 'remote_unreachable', 'git_host_limited'],
    summary: 'The linked repository',
  }),
  commitStatus: route('GET /projects/:id/commit-status', {
    ...read,
    returns: data(CommitStatus),
    errors: ['not_found', 'remote_unreachable', 'git_host_limited'],
    summary: "The deployed commit against the remote's HEAD",
  }),
  linkGit: route('POST /projects/:id/git/link', {
    ...write,
    body: GitLink,
    returns: data(LinkedRepository),
    errors: ['remote_unreachable', 'git_host_limited'],
    summary: 'Link a repository, or replace the linked one',
  }),
  listBranches: route('GET /projects/:id/branches', {
    ...read,
    returns: wholeList(ProjectBranch),
    errors: ['not_found', 'remote_unreachable'],
    summary: 'Branches of the linked repository',
  }),
  setAutoDeploy: route('POST /projects/:id/auto-deploy', {
    ...write,
    body: Enabled,
    returns: data(Project),
    summary: 'Turn deploy on push on or off',
  }),
  setWebhookDomain: route('POST /projects/:id/webhook-domain', {
    ...write,
    body: Type.Object({ domain: nullable(DomainName) }),
    returns: data(Project),
    summary: "Set the project's own domain for git webhooks",
  }),
  setBranch: route('POST /projects/:id/branch', {
    ...write,
    body: Type.Object({ branch: Branch }),
    returns: data(Project),
    errors: ['not_found'],
    summary: 'Set the deploy branch',
  }),
  getResources: route('GET /projects/:id/resources', { ...read, returns: data(Resources), summary: 'CPU, memory and disk' }),
  setResources: route('PATCH /projects/:id/resources', {
    ...write,
    alsoAt: ['POST /projects/:id/resources'],
    body: ResourcesBody,
    returns: data(Resources),
    summary: 'Change CPU, memory, disk, sleep mode or port',
  }),
  setSleepMode: route('POST /projects/:id/sleep-mode', {
    ...write,
    body: Type.Object({ sleepMode: SleepMode }),
    returns: data(Project),
    summary: 'Set whether the project sleeps when it is idle',
  }),
  listDeployments: route('GET /projects/:id/deployments', {
    permission: 'project:deployment:list',
    ...on,
    query: Type.Object({
      ...pageQuery,
      environment: Type.Optional(text(80, 1)),
      status: Type.Optional(oneOf(...deploymentStatuses)),
    }),
    returns: list(Deployment),
    summary: "The project's deployments, newest first",
  }),
  openDeploymentSession: route('POST /projects/:id/deployment-session', {
    ...read,
    mints: 'streamUrl',
    returns: data(nullable(DeploymentSession)),
    summary: "The newest deployment's stream",
  }),
  connectDomain: route('POST /projects/:id/connect', {
    ...write,
    status: 200,
    alsoStatus: 201,
    body: ConnectDomain,
    returns: data(Domain),
    errors: ['domain_taken'],
    summary: 'Add a domain and make it the primary one',
  }),
  ...domainRows,
  ...logRows,
  metrics: route('GET /projects/:id/metrics', {
    ...read,
    query: MetricsQuery,
    returns: data(Metrics),
    summary: 'CPU, memory, requests, errors, latency and bytes over time; the last hour by default',
  }),
  ...ruleRows,
  openUpload: route('POST /projects/folder/session', {
    ...write,
    inBody: 'projectId',
    status: 201,
    body: UploadHints,
    bodyOptional: true,
    returns: data(UploadSession),
    errors: ['payload_too_large', 'quota_exceeded'],
    summary: 'Folder upload, step 1: where to send the gzipped tarball',
  }),
  relayUpload: route('POST /projects/folder/upload/:sessionId', {
    permission: 'project:write',
    on: 'uploadSession',
    selfHostedOnly: true,
    inCloud: 'PUT /uploads/:sessionId',
    upload: tarballUpload,
    returns: data(StoredUpload),
    errors: ['payload_too_large', 'conflict'],
    summary: 'Folder upload, step 2: the tarball as raw bytes',
  }),
  scanUpload: route('POST /projects/folder/scan/:sessionId', {
    permission: 'project:write',
    on: 'uploadSession',
    returns: data(Detection),
    errors: ['conflict', 'source_unreadable'],
    summary: 'Folder upload, step 3: detect stack, package manager and commands',
  }),
  transferToCloud: route('POST /projects/:id/transfer/to-cloud', {
    confirm: true,
    ...admin,
    selfHostedOnly: true,
    here: true,
    body: TransferBody,
    bodyOptional: true,
    returns: Transferred,
    errors: ['already_there', 'cloud_not_linked', 'transfer_failed', 'work_in_progress', 'cloud_unreachable'],
    summary: 'Transfer a local project to the cloud service',
  }),
  transferToSelfHosted: route('POST /projects/:id/transfer/to-self-hosted', {
    confirm: true,
    ...admin,
    selfHostedOnly: true,
    here: true,
    body: TransferBody,
    bodyOptional: true,
    returns: Transferred,
    errors: ['already_there', 'cloud_not_linked', 'transfer_failed', 'work_in_progress', 'cloud_unreachable'],
    summary: 'Transfer a cloud project to this instance',
  }),
}
