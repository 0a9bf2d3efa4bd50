import { recordOf, textOf } from '../../values.ts'
import { excluded, type HintReader, type Hints } from './hints.ts'

const file = 'render.yaml'

/** Reads the first service that is reachable from outside as the project. */
export const readRender: HintReader = async (folder) => {
  const blueprint = recordOf(await folder.yaml(file))
  const services = (Array.isArray(blueprint.services) ? blueprint.services : []).slice(0, 50).map(recordOf)
  const web = services.find(({ type }) => type === 'web' || type === 'static' || type === 'pserv')
  if (!web) return null
  const kind = textOf(web.runtime) ?? textOf(web.env)
  const isStatic = kind === 'static' || web.type === 'static'
  return {
    file,
    type: isStatic ? 'static' : 'app',
    buildCommand: textOf(web.buildCommand),
    startCommand: isStatic ? null : textOf(web.startCommand),
    outputDirectory: textOf(web.staticPublishPath)?.replace(/^\.\//, '') ?? null,
    healthPath: textOf(web.healthCheckPath),
    warnings: warningsOf(blueprint, services, web),
  }
}

function warningsOf(
  blueprint: Record<string, unknown>,
  services: Record<string, unknown>[],
  web: Record<string, unknown>,
): Hints['warnings'] {
  const others = services.filter((service) => service !== web)
  const crons = others.filter(({ type }) => type === 'cron')
  const rest = others.filter(({ type }) => type !== 'cron').map(({ name, type }) => textOf(name) ?? textOf(type) ?? '?')
  return [
    ...(crons.length > 0 ? [excluded(file, 'cron jobs are')] : []),
    ...(rest.length > 0
      ? [
          `${file}: only ${textOf(web.name) ?? 'the first web service'} is deployed; create a project for each of ${rest.slice(0, 10).join(', ')}`,
        ]
      : []),
    ...(Array.isArray(blueprint.databases) ? [excluded(file, 'databases are')] : []),
    ...(web.routes ? [excluded(file, 'routes are')] : []),
    ...(web.headers ? [excluded(file, 'headers are')] : []),
  ]
}
