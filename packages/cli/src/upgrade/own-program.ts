import { readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { environment } from '../environment.ts'
import type { VersionProgram } from './run-step.ts'

export interface OwnProgram {
  program: VersionProgram
  /** Version of the package that users and service managers start. */
  installed: string
  /** A clone is upgraded by git. */
  isClone: boolean
}

/** The version that runs this process, and the package that started it. */
export function ownProgram(): OwnProgram {
  const program = { version: manifest.version, node: process.execPath, launcher: process.argv[1] ?? '' }
  const installed = packageOf(environment.installedLauncher())
  return { program, installed: installed?.version ?? manifest.version, isClone: installed === null }
}

/** Null in a clone: its root is private. */
function packageOf(launcher: string): { version: string } | null {
  try {
    const file = join(dirname(realpathSync(launcher)), '..', '..', '..', 'package.json')
    const { version, private: isPrivate } = JSON.parse(readFileSync(file, 'utf8')) as { version: string; private?: boolean }
    return isPrivate ? null : { version }
  } catch {
    return null
  }
}
