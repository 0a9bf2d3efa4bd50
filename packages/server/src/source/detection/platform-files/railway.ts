import { dig, textOf } from '../../values.ts'
import type { Folder } from '../folder.ts'
import { excluded, type HintReader } from './hints.ts'

export const readRailway: HintReader = async (folder) => {
  const found = await settings(folder)
  if (!found) return null
  const { file, values } = found
  return {
    file,
    buildCommand: textOf(dig(values, 'build', 'buildCommand')),
    startCommand: textOf(dig(values, 'deploy', 'startCommand')),
    healthPath: textOf(dig(values, 'deploy', 'healthcheckPath')),
    warnings: dig(values, 'deploy', 'cronSchedule') === undefined ? [] : [excluded(file, 'the cron schedule is')],
  }
}

async function settings(folder: Folder): Promise<{ file: string; values: unknown } | null> {
  if (folder.has('railway.json')) return { file: 'railway.json', values: await folder.json('railway.json') }
  if (folder.has('railway.toml')) return { file: 'railway.toml', values: await folder.toml('railway.toml') }
  return null
}
