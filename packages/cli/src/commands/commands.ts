import type { Command } from 'commander'
import { resolveProjectOption } from '../find-project.ts'
import { addAccount } from './account/commands.ts'
import { addAdminCreate } from './admin/create.ts'
import { addAdminReset } from './admin/reset.ts'
import { addApi } from './api.ts'
import { addBackups } from './backups/commands.ts'
import { addCatalogue } from './catalogue/commands.ts'
import { addCloud } from './cloud/commands.ts'
import { addCompletion } from './completion.ts'
import { addCron } from './cron/commands.ts'
import { addDelete } from './delete.ts'
import { addDeploy } from './deploy/deploy.ts'
import { addDeployments } from './deployments.ts'
import { addDoctor } from './doctor/doctor.ts'
import { addDomains } from './domains.ts'
import { addDown } from './down.ts'
import { addEnv } from './env/commands.ts'
import { addGit } from './git/commands.ts'
import { groupCommands } from './help-groups.ts'
import { addHooks } from './hooks.ts'
import { addInit } from './init.ts'
import { addInstanceBackup } from './instance-backup.ts'
import { addLinks } from './links/commands.ts'
import { addList } from './list.ts'
import { addLogin } from './login.ts'
import { addLogs } from './logs.ts'
import { addMcp } from './mcp.ts'
import { addMigrate } from './migrate/commands.ts'
import { addOpen } from './open.ts'
import { addProject } from './project/commands.ts'
import { addRegistries } from './registries/commands.ts'
import { addRestore } from './restore.ts'
import { addRollback } from './rollback.ts'
import { addRun } from './run.ts'
import { addSecretsRotate } from './secrets/rotate.ts'
import { addServers } from './servers/commands.ts'
import { addService } from './service/commands.ts'
import { addSettings } from './settings.ts'
import { addSleep } from './sleep.ts'
import { addStatus } from './status.ts'
import { addStorage } from './storage.ts'
import { addTokenCreate } from './token/create.ts'
import { addTokenList } from './token/list.ts'
import { addTokenRevoke } from './token/revoke.ts'
import { addUpgrade } from './upgrade/upgrade.ts'
import { addUpgradeStep } from './upgrade/upgrade-step.ts'
import { addVolumes } from './volumes.ts'

/** Adds every command except `up`; the help lists them by subject. */
export function addCommands(program: Command): void {
  // `berth deploy` resolves `--project` itself, because the option may name a project of berth.json.
  program.hook('preAction', (_, action) => (action.name() === 'deploy' ? undefined : resolveProjectOption(action)))
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
  addCatalogue(program)
  addLinks(program)
  addDomains(program)
  addCron(program)
  addHooks(program)
  addSleep(program)
  addDelete(program)
  addRestore(program)
  addEnv(program)
  addBackups(program)
  addVolumes(program)
  addInstanceBackup(program)
  addGit(program)
  const token = program.command('token').description('personal access tokens')
  addTokenCreate(token)
  addTokenList(token)
  addTokenRevoke(token)
  addServers(program)
  addRegistries(program)
  addStorage(program)
  const admin = program.command('admin').description('manage users on the machine that has the data folder')
  addAdminCreate(admin)
  addAdminReset(admin)
  addSecretsRotate(program.command('secrets').description('manage the keys that encrypt stored secrets'))
  addMigrate(program)
  addCloud(program)
  addProject(program)
  addAccount(program)
  addCompletion(program)
  addApi(program)
  addMcp(program)
  addSettings(program)
  addDoctor(program)
  addDown(program)
  addService(program)
  addUpgrade(program)
  addUpgradeStep(program)
  groupCommands(program)
}
