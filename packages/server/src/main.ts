import manifest from '../package.json' with { type: 'json' }
import { backupInstance, InstanceBackupRefused, restoreInstance } from './instance/backup/backup-instance.ts'
import { closeInherited } from './instance/close-inherited.ts'
import { createAdminHere } from './instance/commands/create-admin.ts'
import { resetAccountHere } from './instance/commands/reset-account.ts'
import { rotateSecrets } from './instance/commands/rotate-secrets.ts'
import { describeSettings, readConfig } from './instance/config/config.ts'
import { DataFolderInUse } from './instance/data-folder.ts'
import { openInstanceContext } from './instance/instance-context.ts'
import { stopInstance, stopUnlessRestarted } from './instance/operate/stop-instance.ts'
import { type Serving, type Supervisor, serve } from './instance/serve.ts'
import { ConfigError } from './platform/config-error.ts'
import { MachineRefused } from './platform/machines/machine-lease.ts'

/** The door for the command line: everything that needs the data folder rather than the API. */
export const version = manifest.version
export type { Config } from './instance/config/config.ts'
export type { Serving, Supervisor }
export {
  backupInstance,
  ConfigError,
  closeInherited,
  createAdminHere,
  DataFolderInUse,
  describeSettings,
  InstanceBackupRefused,
  MachineRefused,
  openInstanceContext,
  readConfig,
  resetAccountHere,
  restoreInstance,
  rotateSecrets,
  serve,
  stopInstance,
  stopUnlessRestarted,
}
