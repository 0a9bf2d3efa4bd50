import type { AnyRoute, ModuleName } from '@berth/contract'
import { mayBeInCloud } from './cloud-proxy.ts'

/**
 * Rows that an API process answers itself: they read and write the database only. A row that is not named is sent to the worker,
 * which has the runtimes, the edge, the logs and the connections to the outside.
 */
const ownRows: Partial<Record<ModuleName, { except: readonly string[] } | { only: readonly string[] }>> = {
  // The worker is on the machine that runs the projects, and it alone opens connections to the outside.
  instance: { except: ['machine', 'version'] },
  access: {
    // These rows depend on how the worker isolates projects (`access/single-user.ts`), or delete projects.
    except: [
      'signUp',
      'completeSignUp',
      'createOrganization',
      'deleteOrganization',
      'updateMember',
      'createInvitation',
      'acceptInvitation',
      'setGrant',
    ],
  },
  projects: {
    only: [
      'list',
      'home',
      'listFrameworks',
      'get',
      'info',
      'listEnvironments',
      'listEnv',
      'changeEnv',
      'getCloneToken',
      'getResources',
      'listDeployments',
      'openDeploymentSession',
      'listDomains',
      'mintRequestStreamToken',
      'metrics',
      'listRules',
    ],
  },
  deployments: { only: ['list', 'get', 'changes', 'listHooks'] },
  gitEvents: { only: ['listPullRequests'] },
  // A channel's address belongs to a user: only the worker connects to it.
  notifications: { except: ['createChannel', 'updateChannel', 'testChannel'] },
  backups: {
    only: [
      'listPolicies',
      'listRuns',
      'listAllRuns',
      'getRun',
      'streamRun',
      'listRestores',
      'getRestore',
      'streamRestore',
      'listDestinations',
      'getDestination',
      'getInstancePolicy',
      'listInstanceBackups',
    ],
  },
  servers: { only: ['list', 'get'] },
  registries: { except: ['save'] },
  links: { only: ['list'] },
  tasks: { only: ['list', 'runs', 'getRun'] },
  transfers: { only: ['list'] },
}

/** Whether an API process sends the row to the worker. */
export function isWorkerRow(module: ModuleName, name: string): boolean {
  const own = ownRows[module]
  if (own === undefined) return true
  return 'only' in own ? !own.only.includes(name) : own.except.includes(name)
}

/** Rows that ask a linked cloud, although they name no project. */
const cloudRows = ['projects.home', 'access.createToken', 'backups.listDestinations']

/** Whether an API process sends an own row to the worker while an organisation is linked to a cloud: only the worker asks it. */
export const asksCloud = (module: ModuleName, name: string, row: AnyRoute): boolean =>
  mayBeInCloud(row) || cloudRows.includes(`${module}.${name}`)

/** Modules whose answers show what the edge serves. */
const edgeModules: readonly ModuleName[] = ['projects', 'deployments', 'gitEvents']

export const showsEdge = (module: ModuleName): boolean => edgeModules.includes(module)

/** The names in the tables, used by tests. */
export const namedRows = [
  ...Object.entries(ownRows).flatMap(([module, own]) =>
    ('only' in own ? own.only : own.except).map((name) => `${module}.${name}`),
  ),
  ...cloudRows,
]
