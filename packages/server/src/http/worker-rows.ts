import type { ModuleName } from '@berth/contract'

/** Rows that an API process answers itself: they read and write the database only. `all` of a module, less the rows named. */
const ownRows: Partial<Record<ModuleName, { except: readonly string[] }>> = {
  instance: { except: [] },
  access: {
    // They depend on how the worker isolates projects (`one-person.ts`), or end projects.
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
  // A channel's address belongs to a user: only the worker connects to it.
  notifications: { except: ['createChannel', 'updateChannel', 'testChannel'] },
  registries: { except: ['save'] },
}

/** Whether an API process forwards the row to the worker, which has the runtimes, the edge, the logs and the outside connections. */
export function isWorkerRow(module: ModuleName, name: string): boolean {
  const own = ownRows[module]
  return own === undefined || own.except.includes(name)
}

/** The names in the table, used by tests. */
export const exceptedRows = Object.entries(ownRows).flatMap(([module, { except }]) => except.map((name) => ({ module, name })))
