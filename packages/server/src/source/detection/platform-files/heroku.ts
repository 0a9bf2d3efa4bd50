import { dig, recordOf, textOf } from '../../values.ts'
import { cronWarning } from './cron-warning.ts'
import { excluded, type HintReader } from './hints.ts'

const file = 'app.json'
const ownFields = ['buildpacks', 'formation', 'addons', 'stack', 'healthchecks', 'cron']

/** Reads app.json of Heroku and Dokku. Other tools use that name too: theirs is recognised by its own fields. */
export const readHeroku: HintReader = async (folder) => {
  const json = recordOf(await folder.json(file))
  if (!ownFields.some((key) => key in json)) return null
  const crons = listOf(json.cron).map((one) => ({ schedule: dig(one, 'schedule'), command: textOf(dig(one, 'command')) }))
  return {
    file,
    healthPath: webHealthPath(json),
    warnings: [
      ...(Array.isArray(json.addons) && json.addons.length > 0 ? [excluded(file, 'add-ons are')] : []),
      ...(dig(json, 'scripts', 'postdeploy') === undefined ? [] : [excluded(file, 'the script postdeploy is')]),
      ...cronWarning(file, crons),
    ],
  }
}

/** The path of the web process's health check; one that runs at the start comes first. */
function webHealthPath(json: Record<string, unknown>): string | null {
  const checks = listOf(dig(json, 'healthchecks', 'web')).filter((check) => textOf(dig(check, 'path'))?.startsWith('/'))
  const chosen = checks.find((check) => dig(check, 'type') === 'startup') ?? checks[0]
  return chosen === undefined ? null : textOf(dig(chosen, 'path'))
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, 50) : [])
