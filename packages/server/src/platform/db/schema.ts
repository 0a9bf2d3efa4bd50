import type { Kysely, Transaction } from 'kysely'
import type { AccessTables } from './tables/access.ts'
import type { BackupsTables } from './tables/backups.ts'
import type { CloudTables } from './tables/cloud.ts'
import type { DeploymentsTables } from './tables/deployments.ts'
import type { GitEventsTables } from './tables/git-events.ts'
import type { GitHostTables } from './tables/git-host.ts'
import type { JobsTables } from './tables/jobs.ts'
import type { MachinesTables } from './tables/machines.ts'
import type { MigrationTables } from './tables/migration.ts'
import type { NotificationsTables } from './tables/notifications.ts'
import type { ProjectsTables } from './tables/projects.ts'
import type { RegistriesTables } from './tables/registries.ts'
import type { RoutingTables } from './tables/routing.ts'
import type { ServersTables } from './tables/servers.ts'
import type { TasksTables } from './tables/tasks.ts'
import type { TransfersTables } from './tables/transfers.ts'

/** Every table of the control plane. A module declares its tables in `tables/<module>.ts` and adds their interface here. */
export interface Schema
  extends JobsTables,
    AccessTables,
    GitHostTables,
    GitEventsTables,
    ProjectsTables,
    DeploymentsTables,
    RoutingTables,
    NotificationsTables,
    BackupsTables,
    CloudTables,
    ServersTables,
    RegistriesTables,
    MachinesTables,
    MigrationTables,
    TasksTables,
    TransfersTables {}

export type Db = Kysely<Schema>
export type Tx = Transaction<Schema>
