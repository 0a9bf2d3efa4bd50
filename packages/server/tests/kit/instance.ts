import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assemble, type Parts } from '../../src/instance/assemble/assemble.ts'
import { readConfig } from '../../src/instance/config/config.ts'
import { createLogger } from '../../src/instance/logger.ts'
import { openKeyRing } from '../../src/platform/secrets/key-ring.ts'
import { createScrubber } from '../../src/platform/secrets/scrubber.ts'
import { createSecretBox } from '../../src/platform/secrets/secret-box.ts'
import { openTestDatabase } from '../../src/platform/test-database.ts'
import { MemoryDns } from './memory-dns.ts'
import { type MemoryDrivers, memoryDrivers } from './memory-runtime.ts'

export interface TestInstance extends ReturnType<typeof assemble> {
  database: Parts['database']
  secretBox: Parts['secretBox']
  /** Drivers in memory for builds, runtime and edge. Nothing is started until a test does. */
  drivers: MemoryDrivers
  /** Another control plane on the same database and drivers, as after a restart; the caller must stop its jobs. */
  another(parts?: Partial<Parts>): ReturnType<typeof assemble>
  stop(): Promise<void>
}

/** A whole instance with its own database and folder; nothing listens, tests go through `app.inject`. */
export async function startInstance(env: Record<string, string> = {}, parts: Partial<Parts> = {}): Promise<TestInstance> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'))
  const config = readConfig({ HOME: folder, BERTH_DATA_DIR: join(folder, 'data'), ...env })
  mkdirSync(config.dataDir, { recursive: true })
  // Jobs and schedules of the database have the clock of the control plane, as in the product: with another one, schedules that a
  // control plane sets at its start would be due at once.
  const database = await openTestDatabase(parts.clock ? { clock: parts.clock } : {})
  const scrubber = createScrubber()
  const logger = await createLogger({ level: 'silent', scrubber, format: 'json' })
  const secretBox = createSecretBox(openKeyRing({ folder, fromSettings: null }))
  const drivers = memoryDrivers(join(folder, 'work'))
  const whole: Parts = {
    drivers,
    dns: new MemoryDns(),
    config,
    version: '0.0.0-test',
    database,
    secretBox,
    scrubber,
    logger,
    rateLimits: { login: 1e6, signUp: 1e6, account: 1e6, public: 1e6, publicWebhook: 1e6, signedIn: 1e6 },
    ...parts,
    // The notices of a test do not depend on the machine that it runs on.
    watched: { machine: undefined, ...parts.watched },
  }
  const assembled = assemble(whole)
  const another: TestInstance['another'] = (changes = {}) => assemble({ ...whole, ...changes })
  const stop = async () => {
    await assembled.close()
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { ...assembled, database, secretBox, drivers, another, stop }
}
