import manifest from '../package.json' with { type: 'json' }
import { backupInstance, InstanceBackupRefused, restoreInstance } from './instance/backup/backup-instance.ts'
import { closeInherited } from './instance/close-inherited.ts'
import { createAdminHere } from './instance/commands/create-admin.ts'
import { resetAccountHere } from './instance/commands/reset-account.ts'
import { rotateSecrets } from './instance/commands/rotate-secrets.ts'
import { describeSettings, readConfig } from './instance/config/config.ts'
import { DataFolderInUse } from './instance/data-folder.ts'
import { currentHolder } from './instance/data-folder-holder.ts'
import { openInstanceContext } from './instance/instance-context.ts'
import { stopInstance, stopUnlessRestarted } from './instance/operate/stop-instance.ts'
import { type Serving, type Supervisor, serve } from './instance/serve.ts'
import {
  copyDatabase,
  describeVersion,
  migrateDatabase,
  rehearseMigration,
  restoreDatabase,
  type VersionFacts,
} from './instance/upgrade/database-steps.ts'
import { ConfigError } from './platform/config-error.ts'
import { MachineRefused } from './platform/machines/machine-lease.ts'

/** The door for the command line: everything that needs the data folder rather than the API. */
export const version = manifest.version
export type { Config } from './instance/config/config.ts'
export type { Serving, Supervisor, VersionFacts }
export {
  backupInstance,
  ConfigError,
  closeInherited,
  copyDatabase,
  createAdminHere,
  currentHolder,
  DataFolderInUse,
  describeSettings,
  describeVersion,
  InstanceBackupRefused,
  MachineRefused,
  migrateDatabase,
  openInstanceContext,
  readConfig,
  rehearseMigration,
  resetAccountHere,
  restoreDatabase,
  restoreInstance,
  rotateSecrets,
  serve,
  stopInstance,
  stopUnlessRestarted,
}
