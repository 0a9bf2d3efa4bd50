import { type Database, type DatabaseSettings, openDatabase } from '../platform/database.ts'
import { createInstanceScrubber } from '../platform/secrets/instance-scrubber.ts'
import { openKeyRing } from '../platform/secrets/key-ring.ts'
import { type ProcessKeys, processKeysOf } from '../platform/secrets/process-keys.ts'
import type { Scrubber } from '../platform/secrets/scrubber.ts'
import { Secret } from '../platform/secrets/secret.ts'
import { createSecretBox, type SecretBox } from '../platform/secrets/secret-box.ts'
import type { Config } from './config/config.ts'
import { createLogger, type Logger } from './logger.ts'

/** Resources that the server and the local commands share. */
export interface InstanceContext {
  config: Config
  database: Database
  secretBox: SecretBox
  processKeys: ProcessKeys
  scrubber: Scrubber
  logger: Logger
  close(): Promise<void>
}

export async function openInstanceContext(
  config: Config,
  options: Pick<DatabaseSettings, 'signals' | 'beforeMigrating'> = {},
): Promise<InstanceContext> {
  const scrubber = createInstanceScrubber(secretsIn(config))
  const logger = await createLogger({ level: config.logLevel, format: config.logFormat, scrubber })
  const keyRing = openKeyRing({ folder: config.dataDir, fromSettings: config.secretKey })
  const secretBox = createSecretBox(keyRing)
  const database = await openDatabase({ url: config.databaseUrl?.reveal(), folder: config.dataDir, ...options }, logger)
  return { config, database, secretBox, processKeys: processKeysOf(keyRing), scrubber, logger, close: () => database.close() }
}

const secretsIn = (value: object): Secret[] =>
  Object.values(value).flatMap((inner) => {
    if (inner instanceof Secret) return [inner]
    return typeof inner === 'object' && inner !== null ? secretsIn(inner) : []
  })
