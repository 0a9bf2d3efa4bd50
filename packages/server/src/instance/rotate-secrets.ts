import type { Config } from '../config.ts'
import { sealedColumns } from '../db/sealed-columns.ts'
import { openWorkshop } from './workshop.ts'

/** `berth secrets rotate`: a new key seals from now on, and every stored value is sealed again under it. May run again after a crash. */
export async function rotateSecrets(config: Config): Promise<{ resealed: number }> {
  const workshop = await openWorkshop(config)
  const { database, secretBox } = workshop
  try {
    secretBox.rotate()
    let resealed = 0
    for (const column of sealedColumns)
      for (const { sealed, place, replace } of await column.read(database.db)) {
        if (!secretBox.needsRotation(sealed)) continue
        await replace(secretBox.reseal(sealed, place))
        resealed++
      }
    return { resealed }
  } finally {
    await workshop.close()
  }
}
