import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { table } from '@berth/contract'
import { assemble } from '../packages/server/src/instance/assemble/assemble.ts'
import { readConfig } from '../packages/server/src/instance/config/config.ts'
import { createDrivers } from '../packages/server/src/instance/drivers/drivers.ts'
import { openInstanceContext } from '../packages/server/src/instance/instance-context.ts'

/** Prints the routes that answer 501 because their module is not built yet. */
const folder = mkdtempSync(join(tmpdir(), 'berth-not-built-'))
const config = readConfig({ BERTH_DATA_DIR: folder, BERTH_LOG_LEVEL: 'silent', BERTH_RUNTIME: 'process' })
const context = await openInstanceContext(config)
const drivers = await createDrivers(config, '0', context.logger)
const { builtRows, close } = assemble({ ...context, drivers, version: '0' })
const missing = table.filter(({ module, name }) => !builtRows.has(`${module}.${name}`))
for (const { row } of missing) console.log(row.at)
console.log(`${missing.length} of ${table.length} routes are not built yet`)
await close()
await context.close()
rmSync(folder, { recursive: true })
