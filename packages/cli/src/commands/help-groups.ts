import type { Command } from 'commander'

/** The commands by subject, in the order of the help. */
const groups: Readonly<Record<string, readonly string[]>> = {
  'Deploy:': ['init', 'deploy', 'redeploy', 'restart', 'rollback', 'cancel', 'deployments'],
  'Projects:': [
    'list',
    'status',
    'logs',
    'open',
    'catalogue',
    'add',
    'link',
    'links',
    'run',
    'env',
    'domains',
    'volumes',
    'cron',
    'sleep',
    'git',
    'hooks',
    'project',
    'unlink',
    'delete',
  ],
  'Backups:': ['backups', 'restore', 'backup-instance', 'restore-instance'],
  'Account:': ['login', 'logout', 'whoami', 'account', 'token'],
  'Instance:': [
    'up',
    'down',
    'service',
    'upgrade',
    'doctor',
    'settings',
    'servers',
    'registries',
    'migrate',
    'storage',
    'cloud',
    'admin',
    'secrets',
  ],
  'Other:': ['api', 'mcp', 'completion', 'upgrade-step'],
}

const order = Object.values(groups).flat()

export function groupCommands(program: Command): void {
  for (const [heading, names] of Object.entries(groups))
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(heading)
  // The built-in command `help` is not in `program.commands`; it takes the default group.
  program.commandsGroup('Other:').helpCommand(true)
  const commands = program.commands as Command[]
  commands.sort((left, right) => order.indexOf(left.name()) - order.indexOf(right.name()))
}
