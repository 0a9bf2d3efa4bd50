import { sealedColumns } from '../../platform/db/sealed-columns.ts'
import type { Config } from '../config/config.ts'
import { openInstanceContext } from '../instance-context.ts'

/** `berth secrets rotate`: creates a new key and encrypts every stored secret again with it. After a crash it can be run again. */
export async function rotateSecrets(config: Config): Promise<{ resealed: number }> {
  const context = await openInstanceContext(config)
  const { database, secretBox } = context
  try {
    secretBox.rotate()
    let resealed = 0
    for (const column of sealedColumns)
      for (const { sealed, location, replace } of await column.read(database.db)) {
        if (!secretBox.needsRotation(sealed)) continue
        await replace(secretBox.reseal(sealed, location))
        resealed++
      }
    return { resealed }
  } finally {
    await context.close()
  }
}
