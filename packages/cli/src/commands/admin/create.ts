import { password as askPassword } from '@clack/prompts'
import type { Command } from 'commander'
import { environment } from '../../environment.ts'
import { CliError } from '../../exit-codes.ts'
import { output } from '../../output.ts'
import { askFor } from '../../prompt.ts'
import { loadServer, readSettings } from '../../server-commands.ts'
import { readStandardInput } from '../../standard-input.ts'

interface Options {
  email: string
  organization: string
  passwordStdin?: boolean
}

export function addAdminCreate(admin: Command): void {
  admin
    .command('create')
    .description('create an owner or reset the password of an owner; works on the data folder, also while the instance runs')
    .requiredOption('--email <address>', 'e-mail address of the owner')
    .option('--organization <name>', 'name of the organisation, if none exists yet', 'Home')
    .option('--password-stdin', 'read the password from standard input')
    .action(async (options: Options, command: Command) => {
      const server = await loadServer()
      const config = readSettings(server, { BERTH_LOG_LEVEL: 'warn', ...environment.all() })
      if (!/^[^\s@]+@[^\s@]+$/.test(options.email)) throw new CliError(`${options.email} is not an e-mail address`, 2)
      const password = options.passwordStdin
        ? await readStandardInput()
        : await askFor(() => askPassword({ message: 'Password' }), '--password-stdin')
      if (password.length < 8) throw new CliError('The password needs at least 8 characters', 2)
      const created = await server.createAdminHere(config, { email: options.email, organization: options.organization, password })
      output(command).result(created, () => `${options.email} is an owner and can sign in`)
    })
}
