import { dig, recordOf, textOf } from '../../values.ts'
import { excluded, type HintReader } from './hints.ts'

const file = 'fly.toml'

export const readFly: HintReader = async (folder) => {
  const toml = await folder.toml(file)
  if (toml === null) return null
  const service = dig(toml, 'http_service')
  const checks = dig(service, 'checks')
  const check = recordOf(Array.isArray(checks) ? checks[0] : Object.values(recordOf(checks))[0])
  const port = dig(service, 'internal_port')
  const processes = Object.keys(recordOf(dig(toml, 'processes')))
  return {
    file,
    startCommand: textOf(dig(toml, 'processes', 'app')) ?? textOf(dig(toml, 'processes', 'web')),
    port: typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : null,
    healthPath: textOf(check.path),
    warnings: [
      ...(dig(toml, 'deploy', 'release_command') === undefined ? [] : [excluded(file, 'the release command is')]),
      ...(dig(toml, 'mounts') === undefined ? [] : [`${file}: mounts are ignored; add a volume in the project's settings`]),
      ...(processes.some((name) => name !== 'app' && name !== 'web') ? [`${file}: only app is started of its processes`] : []),
    ],
  }
}
