import { DeploymentStep, LastExit } from '@berth/contract'
import { Type } from 'typebox'
import type { ListenerOwner } from '../../listener/listener-owner.ts'
import type { ServiceState } from '../tables/deployments.ts'
import { jsonColumn, sealedJson } from './json-column.ts'
import { orNull, textByName, texts } from './shapes.ts'

/** Columns whose types belong to the module are read by `modules/deployments/plan/deployed.ts`. */
export const deploymentJson = {
  env: sealedJson('deployments.env', textByName),
  envSecretKeys: jsonColumn('deployments', 'envSecretKeys', texts),
  warnings: jsonColumn('deployments', 'warnings', texts),
  steps: jsonColumn('deployments', 'steps', Type.Array(DeploymentStep)),
  errorLogTail: jsonColumn('deployments', 'errorLogTail', texts),
}

const State = Type.Object({
  name: Type.String(),
  status: Type.String(),
  restarts: Type.Number(),
  lastExit: orNull(LastExit),
  policy: Type.String(),
  ends: Type.Array(Type.Number()),
  counted: orNull(Type.Object({ instanceId: Type.String(), restarts: Type.Number() })),
})

const environment = ['projectId', 'environment'] as const

export const liveEnvironmentJson = {
  serviceRoutes: jsonColumn(
    'liveEnvironments',
    'serviceRoutes',
    Type.Array(Type.Object({ service: Type.String(), label: Type.String() })),
    environment,
  ),
  services: jsonColumn('liveEnvironments', 'services', Type.Unsafe<ServiceState[]>(Type.Array(State)), environment),
}

export const instanceJson = {
  listener: jsonColumn(
    'instances',
    'listener',
    Type.Unsafe<ListenerOwner>(
      Type.Union([Type.Object({ uid: Type.Number() }), Type.Object({ pid: Type.Number(), startTime: Type.String() })]),
    ),
  ),
}

export const volumeJson = {
  adopted: jsonColumn(
    'volumes',
    'adopted',
    Type.Union([Type.Object({ volume: Type.String() }), Type.Object({ path: Type.String() })]),
  ),
}
