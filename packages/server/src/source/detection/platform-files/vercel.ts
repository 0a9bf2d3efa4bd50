import { vercelRules } from '../../site-rules/vercel-rules.ts'
import { dig, recordOf, textOf } from '../../values.ts'
import { cronWarning } from './cron-warning.ts'
import { excluded, type HintReader } from './hints.ts'

const file = 'vercel.json'
const ignored: readonly [string, string][] = [
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
    warnings: [
      ...ignored.filter(([key]) => dig(fields, key) !== undefined).map(([, subject]) => excluded(file, subject)),
      ...cronWarning(file, cronsOf(fields.crons)),
    ],
  }
}

/** The jobs request a path of the site. */
const cronsOf = (crons: unknown) =>
  (Array.isArray(crons) ? crons.slice(0, 50) : []).map((one) => {
    const path = textOf(dig(one, 'path'))
    return { schedule: dig(one, 'schedule'), command: path && `curl -fsS https://<address of the project>${path}` }
  })
