import { existsSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorText } from '../error-text.ts'
import { CliError } from '../exit-codes.ts'
import { refuseUnknownMigrations, requireSpace } from './check-target.ts'
import { describeVersion, fetchPackage, installVersion, type Source } from './install-version.ts'
import { installedProgram } from './installed-program.ts'
import { ownProgram } from './own-program.ts'
import { endKilledUpgrade } from './recover.ts'
import type { VersionProgram } from './run-step.ts'
import { runUpgrade, type UpgradeResult } from './run-upgrade.ts'
import { stoppedControlPlane, upgradeEffects } from './upgrade-effects.ts'
import { socketFile } from './upgrade-files.ts'
import { lockUpgrades } from './upgrade-lock.ts'
import type { Step } from './upgrade-record.ts'
import { runningVersion, upgradeRunning } from './upgrade-socket.ts'
import { upgradeStore } from './upgrade-store.ts'

interface Options {
  dataDir: string
  source: Source
  /** Whether a control plane holds the data folder. */
  isRunning(): boolean
  note(message: string): void
}

/** Installs a version, then has the supervisor of the running instance upgrade to it. Without one, the upgrade runs here. */
export async function upgradeInstance({ dataDir, source, isRunning, note }: Options): Promise<UpgradeResult> {
  requireOwner(dataDir)
  const running = await runningVersion(socketFile(dataDir))
  if (running === null && isRunning()) throw new CliError(unsupervised)
  const { program: own, installed } = ownProgram()
  const from = running === null || running === own.version ? own : installedProgram(dataDir, running)
  note(`Berth ${from.version} ${running === null ? 'does not run' : 'runs'} on ${dataDir}`)
  const lock = lockUpgrades(dataDir)
  let to: VersionProgram
  try {
    if (running === null) await endKilledUpgrade(dataDir, note)
    const target = await install(dataDir, source, from, note)
    if (target === null) return { outcome: 'current', from: from.version, to: from.version, backup: null, error: null }
    to = target
    if (running === null)
      return await runUpgrade({
        ...{ from: from.version, to: to.version, abort: new AbortController().signal },
        report: reportTo(note),
        effects: upgradeEffects({ dataDir, from, to, control: stoppedControlPlane }),
        store: upgradeStore(dataDir, installed),
      })
  } finally {
    lock.release()
  }
  return await upgradeRunning(socketFile(dataDir), to.version, reportTo(note))
}

const unsupervised =
  'The instance runs without a supervisor that can upgrade it: with another BERTH_ROLE than all, or it is an older version. Stop its control plane (SIGTERM), then run berth upgrade.'

/** Files of another user could not be read by the instance. */
function requireOwner(dataDir: string): void {
  const facts = statSync(dataDir, { throwIfNoEntry: false })
  if (!facts)
    throw new CliError(`${dataDir} does not exist. Set BERTH_DATA_DIR and the other variables of the instance, as for berth up.`)
  if (process.getuid && facts.uid !== process.getuid())
    throw new CliError(`${dataDir} belongs to another user (uid ${facts.uid}). Run berth upgrade as that user.`)
}

/** Installs beside the version that runs. Returns null if the version runs already. */
async function install(dataDir: string, source: Source, from: VersionProgram, note: (message: string) => void) {
  requireSpace(dataDir)
  const fetched = await fetchPackage(dataDir, source)
  const store = upgradeStore(dataDir, from.version)
  const record = { from: from.version, to: fetched.version, backup: null, error: null }
  const at = () => new Date().toISOString()
  try {
    if (fetched.version === from.version) return null
    store.write({ ...record, state: 'install', at: at() })
    note(`▸ ${titles.install} ${fetched.version}`)
    const { program, facts } = await installVersion(dataDir, fetched)
    refuseUnknownMigrations(await describeVersion(from), facts)
    return program
  } catch (error) {
    if (existsSync(dataDir)) store.write({ ...record, state: 'failed', error: errorText(error), at: at() })
    throw error
  } finally {
    rmSync(dirname(fetched.file), { recursive: true, force: true })
  }
}

const titles: Readonly<Record<Step, string>> = {
  install: 'install',
  rehearse: 'migrate a copy of the database',
  backup: 'back up the database and the keys',
  stop: 'stop the control plane; the edge and the projects keep serving',
  copy: 'copy the database',
  migrate: 'migrate the database',
  start: 'start the new version',
  'go-back': 'go back to the previous version',
}

const reportTo = (note: (message: string) => void) => (step: Step, text?: string) =>
  note(text === undefined ? `▸ ${titles[step]}` : `  ${text}`)
