import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeResult } from '../upgrade/describe-result.ts'
import { installedProgram } from '../upgrade/installed-program.ts'
import { ownProgram } from '../upgrade/own-program.ts'
import type { VersionProgram } from '../upgrade/run-step.ts'
import { type Report, runUpgrade, type UpgradeResult } from '../upgrade/run-upgrade.ts'
import { type ControlPlane, upgradeEffects } from '../upgrade/upgrade-effects.ts'
import { lockUpgrades } from '../upgrade/upgrade-lock.ts'
import { upgradeStore } from '../upgrade/upgrade-store.ts'
import { healthAddress, untilHealthy } from './health.ts'
import type { Programs, Supervisor } from './supervisor.ts'

const maxStartMs = 120_000
const maxHealthMs = 30_000

interface Options {
  dataDir: string
  supervisor: Supervisor
  /** The version that runs. */
  from: VersionProgram
  to: string
  env: NodeJS.ProcessEnv
  /** The processes of a version; by default with the command-line flags of this process. */
  programsOf(program: VersionProgram, flags?: readonly string[]): Programs
  report: Report
  log(message: string): void
  abort: AbortSignal
}

/** Upgrades the supervised instance to an installed version. */
export async function upgradeSupervised({
  dataDir,
  supervisor,
  from,
  env,
  programsOf,
  log,
  ...options
}: Options): Promise<UpgradeResult> {
  const to = installedProgram(dataDir, options.to)
  const { serverFlags } = (await import(serverProcessOf(to))) as { serverFlags: readonly string[] }
  const control: ControlPlane = {
    release: () => supervisor.release(),
    start: async (program) => {
      if (supervisor.isStopping) throw new Error('The instance was stopped')
      await supervisor.startReleased(programsOf(program, serverFlags), maxStartMs)
      await untilHealthy(healthAddress(env), program.version, maxHealthMs)
    },
    keep: () => supervisor.resume(),
    startAgain: (program) => supervisor.resume(programsOf(program)),
  }
  const lock = lockUpgrades(dataDir)
  try {
    log(`upgrade: from ${from.version} to ${to.version}`)
    const result = await runUpgrade({
      ...{ from: from.version, to: to.version, report: options.report, abort: options.abort },
      effects: upgradeEffects({ dataDir, from, to, control }),
      store: upgradeStore(dataDir, ownProgram().installed),
    })
    log(`upgrade: ${describeResult(result)}`)
    return result
  } finally {
    lock.release()
  }
}

/** Node flags belong to a version. */
const serverProcessOf = ({ launcher }: VersionProgram) => pathToFileURL(join(launcher, '..', 'server-process.js')).href
