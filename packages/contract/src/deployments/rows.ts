import { Type } from 'typebox'
import { route } from '../route.ts'
import { data, list, PageQuery, text } from '../shape.ts'
import { ExecBody, execEvents, execInput } from './exec-shapes.ts'
import {
  BuildBody,
  Deployment,
  DeploymentLogLine,
  DeploymentStep,
  DeploymentsQuery,
  RestartBody,
  StartedDeployment,
} from './shapes.ts'
import { Storage, StorageCleanUp } from './storage-shapes.ts'
import { StoredVolume } from './volume-shapes.ts'

/** The deployments API that the spec sets apart from projects. */
export const deployments = {
  build: route('POST /deployments/build/access', {
    summary: 'Build and deploy a project',
    permission: 'project:write',
    on: 'project',
    inBody: 'projectId',
    names: { uploadSessionId: 'uploadSession' },
    body: BuildBody,
    returns: data(StartedDeployment),
    status: 202,
    errors: ['not_found', 'project_disabled', 'nothing_to_deploy', 'conflict'],
  }),
  list: route('GET /deployments', {
    summary: "The organisation's deployments, newest first",
    permission: 'project:deployment:list',
    projectTokens: 'filtered',
    names: { projectId: 'project' },
    query: DeploymentsQuery,
    returns: list(Deployment),
  }),
  get: route('GET /deployments/:id', {
    summary: 'One deployment with its steps',
    permission: 'project:read',
    on: 'deployment',
    returns: data(Deployment),
  }),
  logs: route('GET /deployments/:id/logs', {
    summary: 'What the deployment wrote, oldest first',
    permission: 'project:read',
    on: 'deployment',
    query: PageQuery,
    returns: list(DeploymentLogLine),
  }),
  stream: route('GET /deployments/:id/stream', {
    summary: 'One deployment as it proceeds; resumable by Last-Event-ID',
    permission: 'project:read',
    on: 'deployment',
    streamToken: true,
    query: Type.Object({ token: Type.Optional(text(200)) }),
    stream: { snapshot: Deployment, step: DeploymentStep, log: DeploymentLogLine, complete: Deployment },
  }),
  storage: route('GET /instance/storage', {
    summary: 'What builds keep on the disk, here and on servers: artifacts, the build cache and each project; for operators',
    permission: 'organization:read',
    operator: true,
    returns: data(Storage),
  }),
  cleanUpStorage: route('POST /instance/storage/clean-up', {
    summary: 'Remove artifacts that no deployment can use any more, and the whole build cache; for operators',
    permission: 'organization:admin',
    operator: true,
    returns: data(StorageCleanUp),
  }),
  cancel: route('POST /deployments/:id/cancel', {
    summary: 'Cancel a deployment that is under way; what served before still serves',
    permission: 'project:write',
    on: 'deployment',
    returns: data(Deployment),
    errors: ['conflict'],
  }),
  redeploy: route('POST /deployments/:id/redeploy', {
    summary: 'Deploy the same commit or upload again',
    permission: 'project:write',
    on: 'deployment',
    returns: data(StartedDeployment),
    status: 202,
    errors: ['project_disabled', 'nothing_to_deploy'],
  }),
  rollback: route('POST /deployments/:id/rollback', {
    summary: 'Start the kept image of this deployment with the env of that time',
    permission: 'project:write',
    on: 'deployment',
    returns: data(StartedDeployment),
    status: 202,
    errors: ['project_disabled', 'nothing_to_roll_back_to'],
  }),
  restart: route('POST /projects/:id/restart', {
    summary: 'Start the live deployment again with the variables and resources of now, without a build',
    permission: 'project:write',
    on: 'project',
    body: RestartBody,
    bodyOptional: true,
    returns: data(StartedDeployment),
    status: 202,
    errors: ['project_disabled', 'nothing_to_restart', 'conflict'],
  }),
  exec: route('POST /projects/:id/exec', {
    summary: 'Run a program inside what is live, as words that no shell reads; its output comes as it is written',
    permission: 'project:admin',
    on: 'project',
    body: ExecBody,
    stream: execEvents,
    errors: ['conflict', 'rate_limited'],
  }),
  execInput: route('POST /projects/:id/exec/:execId/input', {
    summary: 'What a program that was run inside reads, as raw bytes; the end of them is the end of its input',
    permission: 'project:admin',
    on: 'project',
    upload: execInput,
    status: 204,
    errors: ['not_found', 'conflict', 'payload_too_large'],
  }),
  listVolumes: route('GET /projects/:id/volumes', {
    summary: "The project's volumes of every environment, with the copies that restores made",
    permission: 'project:read',
    on: 'project',
    query: PageQuery,
    returns: list(StoredVolume),
  }),
  removeVolume: route('DELETE /projects/:id/volumes/:volumeId', {
    summary: 'Delete a volume that nothing mounts, with its data',
    permission: 'project:admin',
    on: 'volume',
    needs: 'admin',
    status: 204,
    errors: ['conflict', 'work_in_progress'],
  }),
}
