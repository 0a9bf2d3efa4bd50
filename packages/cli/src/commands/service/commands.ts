import type { Command } from 'commander'
import { CliError } from '../../exit-codes.ts'
import { output } from '../../output.ts'
import { installService, serviceLocation, uninstallService } from './install.ts'
import { isSystemdRunning, runAttached, systemctl } from './systemd.ts'
import { unitName } from './unit.ts'

interface Options {
  user?: boolean
}

/** Adds `berth service`: the instance as a unit of systemd. */
export function addService(program: Command): void {
  const service = program.command('service').description('run the instance as a systemd service, which starts with the machine')
  const add = (name: string, description: string) =>
    service
      .command(name)
      .description(description)
      .option('--user', 'use the service of this user, even as root (default as root: the service of the system)')
  add('install', 'install and start the service with the BERTH_* variables of this shell; without systemd, print the unit')
    .option('--print', 'print the unit and change nothing')
    .action(({ user = false, print = false }: Options & { print?: boolean }, command: Command) =>
      installService(serviceLocation(user), { print }, output(command)),
    )
  add('status', 'show whether the service runs').action(async ({ user = false }: Options) => {
    requireSystemd()
    process.exitCode = await runAttached('systemctl', [...scope(user), 'status', '--no-pager', unitName])
  })
  add('logs', 'show the log of the service')
    .option('-f, --follow', 'stream new lines')
    .option('-n, --lines <count>', 'number of the newest lines', '100')
    .action(async ({ user = false, follow = false, lines }: Options & { follow?: boolean; lines: string }) => {
      requireSystemd()
      const args = [...scope(user), '--output=cat', '--no-pager', `--lines=${lines}`, `--unit=${unitName}`]
      process.exitCode = await runAttached('journalctl', follow ? [...args, '--follow'] : args)
    })
  add('restart', 'restart the control plane; the edge and the projects keep serving').action(
    async ({ user = false }: Options, command: Command) => {
      requireSystemd()
      await systemctl(serviceLocation(user).isSystem, 'restart', unitName)
      output(command).result({ restarted: true }, () => 'The control plane has been restarted. No project was stopped.')
    },
  )
  add('uninstall', 'stop and remove the service; data, settings and running projects are kept').action(
    async ({ user = false }: Options, command: Command) => {
      requireSystemd()
      await uninstallService(serviceLocation(user), output(command))
    },
  )
}

const scope = (user: boolean) => (serviceLocation(user).isSystem ? [] : ['--user'])

function requireSystemd(): void {
  if (!isSystemdRunning())
    throw new CliError('systemd does not run on this machine. Print the unit with berth service install --print.')
}
