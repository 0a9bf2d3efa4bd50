import type { contract } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import { deploymentHandlers } from './deployment-handlers.ts'
import type { ProjectsDeps } from './deps.ts'
import { gitHandlers } from './git/handlers.ts'
import type { Deletion } from './lifecycle/deletion.ts'
import type { EnvironmentDeletion } from './lifecycle/environment-deletion.ts'
import { coreHandlers } from './lifecycle/handlers.ts'
import { localHandlers } from './local/handlers.ts'
import { logHandlers } from './logs/handlers.ts'
import { metricHandlers } from './metrics/handlers.ts'
import { ruleHandlers } from './rules/handlers.ts'
import { settingsHandlers } from './settings/handlers.ts'
import { uploadHandlers } from './uploads/handlers.ts'

/** One line for each file of handlers; together they serve every row of the projects table. */
export const projectsHandlers = (
  deps: ProjectsDeps,
  deletion: Deletion,
  environmentDeletion: EnvironmentDeletion,
): Handlers<typeof contract.projects> => ({
  ...coreHandlers(deps, deletion),
  ...settingsHandlers(deps, environmentDeletion),
  ...deploymentHandlers(deps),
  ...uploadHandlers(deps),
  ...localHandlers(deps),
  ...gitHandlers(deps),
  ...logHandlers(deps),
  ...metricHandlers(deps),
  ...ruleHandlers(deps),
})
