import { Command, CommanderError } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { addAccount } from './commands/account.ts'
import { addAdminCreate } from './commands/admin/create.ts'
import { addApi } from './commands/api.ts'
import { addBackups } from './commands/backups/commands.ts'
import { addCloud } from './commands/cloud/commands.ts'
import { addCompletion } from './commands/completion.ts'
import { addDelete } from './commands/delete.ts'
import { addDeploy } from './commands/deploy/deploy.ts'
import { addDeployments } from './commands/deployments.ts'
import { addDomains } from './commands/domains.ts'
import { addEnv } from './commands/env/commands.ts'
import { addGit } from './commands/git/commands.ts'
import { addInit } from './commands/init.ts'
import { addInstanceBackup } from './commands/instance-backup.ts'
import { addList } from './commands/list.ts'
import { addLogin } from './commands/login.ts'
import { addLogs } from './commands/logs.ts'
import { addMigrate } from './commands/migrate/commands.ts'
import { addOpen } from './commands/open.ts'
import { addProject } from './commands/project/commands.ts'
import { addRestore } from './commands/restore.ts'
import { addRollback } from './commands/rollback.ts'
import { addRun } from './commands/run.ts'
import { addSecretsRotate } from './commands/secrets/rotate.ts'
import { addServers } from './commands/servers/commands.ts'
import { addSettings } from './commands/settings.ts'
import { addSleep } from './commands/sleep.ts'
import { addStatus } from './commands/status.ts'
import { addTokenCreate } from './commands/token/create.ts'
import { addTokenList } from './commands/token/list.ts'
import { addTokenRevoke } from './commands/token/revoke.ts'
import { addUp } from './commands/up.ts'
import { exitCodeOf, exitCodes, explain } from './exit-codes.ts'
import { inOptions } from './field-options.ts'
import { output } from './output.ts'

const program = new Command('berth')
  .description('Host projects on your own machine, on a cluster, or in the cloud')
  .version(manifest.version)
  .option('--json', 'print JSON for programs instead of text for people')
  .option('--url <address>', 'the instance to talk to (else BERTH_URL, else the one you signed in to)')
  .showHelpAfterError('(add --help for what this command takes)')
  .addHelpText('after', `\nExit codes:\n${exitCodes.map(({ code, means }) => `  ${code}  ${means}`).join('\n')}`)
  .exitOverride()

addUp(program)
addLogin(program)
addInit(program)
addDeploy(program)
addList(program)
addStatus(program)
addDeployments(program)
addRollback(program)
addLogs(program)
addRun(program)
addOpen(program)
addDomains(program)
addSleep(program)
addDelete(program)
addRestore(program)
addEnv(program)
addBackups(program)
addInstanceBackup(program)
addGit(program)
const token = program.command('token').description('personal access tokens')
addTokenCreate(token)
addTokenList(token)
addTokenRevoke(token)
addServers(program)
addAdminCreate(program.command('admin').description('people, on the machine that holds the data folder'))
addSecretsRotate(program.command('secrets').description('the keys that secrets are stored under'))
addMigrate(program)
addCloud(program)
addProject(program)
addAccount(program)
addCompletion(program)
addApi(program)
addSettings(program)

// Who reads through `head` has read enough: that is no fault.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })

let running: Command = program
program.hook('preAction', (_, action) => {
  running = action
})

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  else {
    output(program).problem(inOptions(explain(error), running))
    process.exitCode = exitCodeOf(error)
  }
}
