import { BuildArgs, HealthCheck, Resources, Service, ServiceRoutes, UploadHints, Volume } from '@berth/contract'
import { Type } from 'typebox'
import type { CarriedParts } from '../tables/projects.ts'
import { jsonColumn } from './json-column.ts'
import { anyObject, orNull, texts } from './shapes.ts'

const Carried = Type.Object({
  rules: Type.Array(Type.Object({ kind: Type.String(), config: anyObject })),
  grants: Type.Array(Type.Object({ email: Type.String(), level: Type.String() })),
  folderUploadId: orNull(Type.String()),
})

const { production, build } = Resources.properties

export const projectJson = {
  composeProfiles: jsonColumn('projects', 'composeProfiles', texts),
  buildArgs: jsonColumn('projects', 'buildArgs', BuildArgs),
  healthCheck: jsonColumn('projects', 'healthCheck', HealthCheck),
  volumes: jsonColumn('projects', 'volumes', Type.Array(Volume)),
  services: jsonColumn('projects', 'services', Type.Array(Service)),
  serviceRoutes: jsonColumn('projects', 'serviceRoutes', ServiceRoutes),
  resources: jsonColumn('projects', 'resources', Type.Object({ production, build })),
  carried: jsonColumn('projects', 'carried', Type.Unsafe<CarriedParts>(Carried)),
  detected: jsonColumn(
    'projects',
    'detected',
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Null()])),
  ),
}

export const projectTemplateJson = {
  linkVariables: jsonColumn('projectTemplates', 'linkVariables', Type.Record(Type.String(), Type.String()), ['projectId']),
}

export const routeRuleJson = {
  config: jsonColumn('routeRules', 'config', anyObject),
}

/** The scan is read by `modules/projects/uploads/uploads.ts`. */
export const uploadSessionJson = {
  hints: jsonColumn('uploadSessions', 'hints', UploadHints),
}

export const metricJson = {
  latency: jsonColumn('metrics', 'latency', Type.Array(Type.Number()), ['environmentId', 'counter']),
}
