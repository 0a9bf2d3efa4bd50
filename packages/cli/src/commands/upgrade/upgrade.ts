import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { isVersion } from '../../../bin/versions.js'
import { environment } from '../../environment.ts'
import { CliError } from '../../exit-codes.ts'
import { type Output, output } from '../../output.ts'
import { loadServer, readSettings } from '../../server-commands.ts'
import { describeResult } from '../../upgrade/describe-result.ts'
import type { Source } from '../../upgrade/install-version.ts'
import { ownProgram } from '../../upgrade/own-program.ts'
import type { UpgradeResult } from '../../upgrade/run-upgrade.ts'

interface Options {
  to?: string
  check?: boolean
}

/** Adds `berth upgrade`. It works on the data folder, without the API. */
export function addUpgrade(program: Command): void {
  program
    .command('upgrade')
    .description(
      'upgrade this instance without stopping a project; if the new version does not become healthy, go back to the previous one',
    )
    .option('--to <version|file>', 'version, or package file; default: the newest version on the registry')
    .option('--check', 'list newer versions and change nothing')
    .action(async ({ to, check = false }: Options, command: Command) => {
      const print = output(command)
      const { isClone, program: own } = ownProgram()
      if (isClone) throw new CliError('This is a clone of Berth. Upgrade it with git pull && npm run up.')
      if (check) return await listNewer(own.version, print)
      const result = await upgrade(to, print)
      if (result.outcome === 'failed' || result.outcome === 'went-back')
        throw new CliError(describeResult(result), result.outcome === 'went-back' ? 8 : 1)
      print.result(result, () => describeResult(result))
    })
}

async function listNewer(current: string, print: Output): Promise<void> {
  const server = await loadServer()
  if (readSettings(server, environment.all()).upgradeCheck === 'off')
    throw new CliError('The check for newer versions is turned off (BERTH_UPGRADE_CHECK=off).')
  const { newerVersions } = await import('../../upgrade/newer-versions.ts')
  const newer = await newerVersions(current)
  print.result({ current, newest: newer[0] ?? current, newer }, () =>
    newer.length === 0
      ? `Berth ${current} is the newest version.`
      : `Berth ${current} runs. Newer: ${newer.join(', ')}. Upgrade with berth upgrade.`,
  )
}

async function upgrade(to: string | undefined, print: Output): Promise<UpgradeResult> {
  const { upgradeInstance } = await import('../../upgrade/upgrade-instance.ts')
  const server = await loadServer()
  const config = readSettings(server, { BERTH_LOG_LEVEL: 'warn', ...environment.all() })
  const current = ownProgram().program.version
  const source = to === undefined ? await newestVersion(current) : sourceOf(to)
  if (!source) return { outcome: 'current', from: current, to: current, backup: null, error: null }
  return await upgradeInstance({
    dataDir: config.dataDir,
    source,
    isRunning: () => server.currentHolder(config.dataDir) !== undefined,
    note: print.note,
  })
}

async function newestVersion(current: string): Promise<Source | undefined> {
  const { newerVersions } = await import('../../upgrade/newer-versions.ts')
  const [version] = await newerVersions(current)
  return version === undefined ? undefined : { version }
}

function sourceOf(text: string): Source {
  if (isVersion(text)) return { version: text }
  if (existsSync(text)) return { file: text }
  throw new CliError(`--to is "${text}": it must be a version such as 1.2.3, or an existing package file.`, 2)
}
