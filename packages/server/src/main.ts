import manifest from '../package.json' with { type: 'json' }
import { ConfigError, describeSettings, readConfig } from './config.ts'
import { DataFolderInUse } from './data-folder.ts'
import { createAdminHere } from './instance/create-admin.ts'
import { rotateSecrets } from './instance/rotate-secrets.ts'
import { serve } from './instance/serve.ts'
import { openWorkshop } from './instance/workshop.ts'

/** The door for the command line: everything that needs the data folder rather than the API. */
export const version = manifest.version
export type { Config } from './config.ts'
export { ConfigError, createAdminHere, DataFolderInUse, describeSettings, openWorkshop, readConfig, rotateSecrets, serve }
