import { existsSync } from 'node:fs'
import { programOf, versionsFolder } from '../../bin/versions.js'
import { CliError } from '../exit-codes.ts'
import type { VersionProgram } from './run-step.ts'

/** The program of a version in the data folder. */
export function installedProgram(dataDir: string, version: string): VersionProgram {
  const { launcher, node } = programOf(dataDir, version)
  if (!existsSync(launcher)) throw new CliError(`Version ${version} is not installed in ${versionsFolder(dataDir)}.`)
  return { version, launcher, node: node ?? process.execPath }
}
