import { tmpdir } from 'node:os'
import { compareVersions, isPrerelease, isVersion, packageName } from '../../bin/versions.js'
import { CliError } from '../exit-codes.ts'
import { runNpm } from './npm.ts'

const maxMs = 15_000

/** Versions on the registry that are newer than this one, the newest first. Prereleases are listed for a prerelease only. */
export async function newerVersions(current: string): Promise<string[]> {
  const output = await runNpm(['view', packageName, 'versions', '--json'], { cwd: tmpdir(), maxMs }).catch(rethrowWithRemedy)
  return versionsIn(output)
    .filter((version) => compareVersions(version, current) > 0 && (!isPrerelease(version) || isPrerelease(current)))
    .sort((one, other) => compareVersions(other, one))
}

function rethrowWithRemedy(error: unknown): never {
  if (!(error instanceof CliError && error.message.includes('E404'))) throw error
  throw new CliError(
    `The npm registry has no package ${packageName}. Set up a registry that has it, or upgrade to a package file: berth upgrade --to <file> (${error.message})`,
  )
}

/** npm prints a text in place of a list of one. */
function versionsIn(output: string): string[] {
  try {
    const listed: unknown = JSON.parse(output)
    return (Array.isArray(listed) ? listed : [listed]).filter(isVersion)
  } catch {
    throw new CliError(`npm view answered no list of versions of ${packageName}.`)
  }
}
