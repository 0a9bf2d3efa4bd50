import type { contract } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import type { ProjectsDeps } from './deps.ts'
import { deploymentHandlers } from './handlers/deployments.ts'
import { domainHandlers } from './handlers/domains.ts'
import { gitHandlers } from './handlers/git.ts'
import { coreHandlers } from './handlers/lifecycle.ts'
import { localHandlers } from './handlers/local.ts'
import { logHandlers } from './handlers/logs.ts'
import { metricHandlers } from './handlers/metrics.ts'
import { ruleHandlers } from './handlers/rules.ts'
import { settingsHandlers } from './handlers/settings.ts'
import { uploadHandlers } from './handlers/uploads.ts'
import type { Deletion } from './lifecycle/deletion.ts'
import type { EnvironmentDeletion } from './lifecycle/environment-deletion.ts'

/** All handlers of the projects routes, except those that transfer a project: the transfers module has them. */
export const projectsHandlers = (
  deps: ProjectsDeps,
  deletion: Deletion,
  environmentDeletion: EnvironmentDeletion,
): Omit<Handlers<typeof contract.projects>, 'transferToCloud' | 'transferToSelfHosted'> => ({
  ...coreHandlers(deps, deletion),
  ...settingsHandlers(deps, environmentDeletion),
  ...domainHandlers(deps),
  ...deploymentHandlers(deps),
  ...uploadHandlers(deps),
  ...localHandlers(deps),
  ...gitHandlers(deps),
  ...logHandlers(deps),
  ...metricHandlers(deps),
  ...ruleHandlers(deps),
})
