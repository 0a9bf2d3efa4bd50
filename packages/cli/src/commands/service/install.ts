import { existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { environment } from '../../environment.ts'
import { CliError } from '../../exit-codes.ts'
import type { Output } from '../../output.ts'
import { isSystemdRunning, systemctl } from './systemd.ts'
import { environmentLine, unitName, unitText } from './unit.ts'

export interface ServiceLocation {
  isSystem: boolean
  unitFile: string
  environmentFile: string
}

/** root installs a service of the system, unless `wantsUser` is set. Other users install a service of their own. */
export function serviceLocation(wantsUser: boolean): ServiceLocation {
  const isSystem = !wantsUser && process.getuid?.() === 0
  if (isSystem) return { isSystem, unitFile: join('/etc/systemd/system', unitName), environmentFile: '/etc/berth.env' }
  const folder = dirname(environment.configFolder())
  return {
    isSystem,
    unitFile: join(folder, 'systemd', 'user', unitName),
    environmentFile: join(environment.configFolder(), 'berth.env'),
  }
}

/** Writes the unit and starts it. Without systemd it prints the unit and changes nothing. */
export async function installService(location: ServiceLocation, options: { print: boolean }, print: Output): Promise<void> {
  const { isSystem, unitFile, environmentFile } = location
  const launcher = realpathSync(environment.installedLauncher())
  const unit = unitText({ isSystem, environmentFile, node: process.execPath, launcher })
  if (options.print || !isSystemdRunning()) {
    if (!options.print) print.note(`systemd does not run on this machine: nothing was installed. The unit for ${unitFile}:`)
    print.result({ installed: false, unitFile, unit }, () => unit.trimEnd())
    return
  }
  if (existsSync(environmentFile))
    print.note(`${environmentFile} exists and is kept; BERTH_* variables of this shell are not copied`)
  else writeSettings(environmentFile)
  mkdirSync(dirname(unitFile), { recursive: true })
  writeFileSync(unitFile, unit)
  await systemctl(isSystem, 'daemon-reload')
  await systemctl(isSystem, 'enable', '--now', unitName)
  print.result({ installed: true, unitFile, environmentFile }, () =>
    [
      `${unitFile} is installed and started. Its settings are in ${environmentFile}: change them, then run berth service restart.`,
      'The link to set it up is in its log: berth service logs',
      ...(isSystem ? [] : [`To start it with the machine, run: loginctl enable-linger ${userName()}`]),
    ].join('\n'),
  )
}

export async function uninstallService({ isSystem, unitFile }: ServiceLocation, print: Output): Promise<void> {
  if (!existsSync(unitFile)) throw new CliError(`${unitFile} does not exist: the service is not installed`)
  await systemctl(isSystem, 'disable', '--now', unitName)
  rmSync(unitFile)
  await systemctl(isSystem, 'daemon-reload')
  print.result({ uninstalled: true, unitFile }, () =>
    [
      'The service is removed. The data and the settings are kept.',
      'The edge and the projects keep running; stop them with: berth down',
    ].join('\n'),
  )
}

/** Settings of the CLI itself, which a server does not read. */
const ofTheCli = ['BERTH_URL', 'BERTH_TOKEN', 'BERTH_ORGANIZATION', 'BERTH_LAUNCHED', 'BERTH_ON_STOP']

/** Copies the settings of this shell, which the service does not see. */
function writeSettings(file: string): void {
  const settings = Object.entries({ ...defaults(), ...environment.all() }).filter(
    ([name, value]) => name.startsWith('BERTH_') && value && !ofTheCli.includes(name),
  )
  const lines = settings.map(([name, value]) => {
    const line = environmentLine(name, value ?? '')
    if (line === null)
      throw new CliError(`${name} has several lines, which ${file} cannot hold. Set a file path instead, or unset it.`)
    return line
  })
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, `# Settings of Berth; list them with: berth settings\n${lines.join('\n')}\n`, { mode: 0o600 })
}

/** A service of root has another home than the user who installs it. */
const defaults = () => ({ BERTH_DATA_DIR: join(homedir(), '.berth') })

const userName = () => environment.all().USER ?? 'the user'
