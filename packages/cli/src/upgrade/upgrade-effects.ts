import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { environment } from '../environment.ts'
import { removeVersions } from './install-version.ts'
import { runStep, type VersionProgram } from './run-step.ts'
import type { UpgradeEffects } from './run-upgrade.ts'
import { backupsFolder, copyFile, pointedVersion, rehearsalFolder, workFolder } from './upgrade-files.ts'

/** The control plane of the data folder. */
export interface ControlPlane {
  /** Ends it and leaves the edge and the projects running. */
  release(): Promise<void>
  /** Starts this version. Resolves when it is healthy. */
  start(program: VersionProgram): Promise<void>
  /** Supervises the version that was started. */
  keep(): void
  startAgain(program: VersionProgram): void
}

/** The control plane of an instance that does not run. */
export const stoppedControlPlane: ControlPlane = {
  release: async () => undefined,
  start: async () => undefined,
  keep: () => undefined,
  startAgain: () => undefined,
}

interface Options {
  dataDir: string
  from: VersionProgram
  to: VersionProgram
  control: ControlPlane
}

const keptBackups = 3

/** The effects on a data folder. Steps on the database are programs of the version that knows its schema. */
export function upgradeEffects({ dataDir, from, to, control }: Options): UpgradeEffects {
  return {
    rehearse: async (abort) => {
      if (environment.hasDatabaseUrl()) return 'left out: the database is PostgreSQL. A copy of it is made before the migration'
      const folder = rehearsalFolder(dataDir)
      rmSync(folder, { recursive: true, force: true })
      await runStep(from, ['copy', join(folder, 'berth.db')], abort)
      await runStep(to, ['rehearse', folder], abort)
      rmSync(folder, { recursive: true, force: true })
      return null
    },
    backUp: async (abort) => {
      const folder = backupsFolder(dataDir)
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      removeOldBackups(folder)
      const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')
      const file = join(folder, `${time}-before-${to.version}.tar.zst.age`)
      await runStep(from, ['backup', file], abort)
      return file
    },
    stopOld: () => control.release(),
    copyDatabase: async () => void (await runStep(from, ['copy', copyFile(dataDir)])),
    migrate: async () => void (await runStep(to, ['migrate'])),
    startNew: () => control.start(to),
    stopNew: () => control.release(),
    restoreDatabase: async () => void (await runStep(from, ['restore', copyFile(dataDir)])),
    startOld: async () => control.startAgain(from),
    keepNew: () => control.keep(),
    cleanUp: () => cleanUp(dataDir, [from.version, to.version]),
  }
}

/** The edge may still run from the folder of either version: both are kept until the next upgrade. */
export function cleanUp(dataDir: string, versions: readonly string[]): void {
  rmSync(workFolder(dataDir), { recursive: true, force: true })
  removeVersions(dataDir, [...versions, pointedVersion(dataDir) ?? ''])
}

/** Removes all but the newest backups, and the remains of an interrupted one. The caller then writes another one. */
function removeOldBackups(folder: string): void {
  const names = readdirSync(folder).sort()
  const whole = names.filter((name) => name.endsWith('.age'))
  const removed = [
    ...names.filter((name) => name.endsWith('.part')),
    ...whole.slice(0, Math.max(0, whole.length - keptBackups + 1)),
  ]
  for (const name of removed) rmSync(join(folder, name), { force: true })
}
