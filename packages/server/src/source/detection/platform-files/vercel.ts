import { vercelRules } from '../../site-rules/vercel-rules.ts'
import { dig, recordOf, textOf } from '../manifests/values.ts'
import { excluded, type HintReader } from './hints.ts'

const file = 'vercel.json'
const ignored: readonly [string, string][] = [
  ['crons', 'crons are'],
  ['functions', 'functions are'],
  ['routes', 'routes are'],
]

export const readVercel: HintReader = async (folder) => {
  const json = await folder.json(file)
  if (json === null) return null
  const fields = recordOf(json)
  return {
    file,
    installCommand: textOf(fields.installCommand),
    buildCommand: textOf(fields.buildCommand),
    outputDirectory: textOf(fields.outputDirectory),
    site: vercelRules(json),
    warnings: ignored.filter(([key]) => dig(fields, key) !== undefined).map(([, subject]) => excluded(file, subject)),
  }
}
