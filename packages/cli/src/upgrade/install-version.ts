import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { isVersion, packageName, versionFolder, versionsFolder } from '../../bin/versions.js'
import { errorText } from '../error-text.ts'
import { CliError } from '../exit-codes.ts'
import { installedProgram } from './installed-program.ts'
import { runNpm } from './npm.ts'
import { type PackageFacts, readPackage } from './read-package.ts'
import { replaceFile } from './replace-file.ts'
import { runStep, type VersionProgram } from './run-step.ts'

const maxMs = 10 * 60_000
const protocol = 1

export interface VersionFacts {
  version: string
  protocol: number
  migrations: string[]
}

export interface InstalledVersion {
  program: VersionProgram
  facts: VersionFacts
}

/** A version of the registry, or a package file. */
export type Source = { version: string } | { file: string }

export type FetchedPackage = PackageFacts & { file: string }

/** Fetches a package into the data folder and checks it. Returns the file, which the caller removes. */
export async function fetchPackage(dataDir: string, source: Source): Promise<FetchedPackage> {
  const folder = join(versionsFolder(dataDir), `.incoming-${randomBytes(6).toString('hex')}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  try {
    return await fetchTo(folder, source)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

async function fetchTo(folder: string, source: Source): Promise<FetchedPackage> {
  if ('file' in source) {
    const path = resolve(source.file)
    if (!existsSync(path)) throw new CliError(`${path} does not exist.`)
    // A copy: the file that is checked is the file that is installed.
    copyFileSync(path, join(folder, 'package.tgz'))
  } else
    await runNpm(['pack', `${packageName}@${source.version}`, '--ignore-scripts', '--pack-destination', folder], {
      cwd: folder,
      maxMs,
    })
  const [name] = readdirSync(folder).filter((one) => one.endsWith('.tgz'))
  if (!name) throw new CliError(`npm pack fetched no package ${packageName}.`)
  const file = join(folder, name)
  const facts = await readPackage(file)
  if ('version' in source && facts.version !== source.version)
    throw new CliError(`The registry answered version ${facts.version} for version ${source.version}.`)
  return { file, ...facts }
}

/** Installs a package below the data folder, with npm and without scripts, and checks that it runs. */
export async function installVersion(
  dataDir: string,
  { file, version, integrity, nodeMajor }: FetchedPackage,
): Promise<InstalledVersion> {
  const folder = versionFolder(dataDir, version)
  if (readIntegrity(folder) !== integrity) {
    const partial = join(versionsFolder(dataDir), `.installing-${version}`)
    for (const path of [partial, folder]) rmSync(path, { recursive: true, force: true })
    mkdirSync(partial, { recursive: true, mode: 0o700 })
    const isNodeNewEnough = nodeMajor === null || Number.parseInt(process.versions.node, 10) >= nodeMajor
    await runNpm(
      [
        ...['install', '--prefix', partial, '--global=false', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'],
        ...(isNodeNewEnough ? ['--omit=optional'] : []),
        file,
      ],
      { cwd: partial, maxMs },
    )
    replaceFile(join(partial, 'installed.json'), `${JSON.stringify({ version, integrity })}\n`)
    renameSync(partial, folder)
  }
  const program = installedProgram(dataDir, version)
  return { program, facts: await describeVersion(program) }
}

/** Runs the version: it must know its own number, and the steps of an upgrade. */
export async function describeVersion(program: VersionProgram): Promise<VersionFacts> {
  const facts = (await runStep(program, ['describe']).catch((cause) => {
    throw new CliError(`Version ${program.version} does not run here, or knows no upgrades: ${errorText(cause)}`)
  })) as Partial<VersionFacts>
  if (facts.version !== program.version || facts.protocol !== protocol || !Array.isArray(facts.migrations))
    throw new CliError(
      `Version ${program.version} cannot be used for an upgrade: it describes itself as ${JSON.stringify(facts)}.`,
    )
  return facts as VersionFacts
}

function readIntegrity(folder: string): string | null {
  try {
    return JSON.parse(readFileSync(join(folder, 'installed.json'), 'utf8')).integrity
  } catch {
    return null
  }
}

/** Removes versions except these, and what an interrupted installation left. */
export function removeVersions(dataDir: string, kept: readonly string[]): void {
  const folder = versionsFolder(dataDir)
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const isLeftOver = name.startsWith('.')
    const isOld = isVersion(basename(name)) && !kept.includes(name)
    if ((isLeftOver || isOld) && statSync(path).isDirectory()) rmSync(path, { recursive: true, force: true })
  }
}
