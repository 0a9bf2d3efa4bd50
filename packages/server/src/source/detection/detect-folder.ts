import { posix } from 'node:path'
import { leadsOutside } from '../leads-outside.ts'
import type { Detection, Evidence } from './detection.ts'
import { exampleVariables } from './example-variables.ts'
import { Folder } from './folder.ts'
import { javascriptManagers } from './javascript-tools.ts'
import { subfolderApps } from './monorepo.ts'
import { withNodeForOldWebpack } from './old-webpack.ts'
import { applyPlatformFiles } from './platform-files/index.ts'
import { withPrismaClient } from './prisma-client.ts'
import { applyProcfile } from './procfile.ts'
import { RootDirectoryError } from './root-directory-error.ts'
import { runtimeVersions } from './runtime-versions.ts'
import { SourceFileError } from './source-file-error.ts'
import { type App, firstMatch, type Match, type Plan, readApp, type Stack } from './stack.ts'
import { anyCompose, composeNotUsedWarning, isComposeOfOne } from './stacks/compose.ts'
import { dockerfileAt } from './stacks/docker.ts'
import { appStacks, stacks } from './stacks/index.ts'
import { chooseOne } from './stacks/monorepo.ts'

export interface DetectOptions {
  /** The app's folder in the project: relative, without `..`. */
  rootDirectory?: string
  /** Maximum number of files and folders to list. */
  maxFiles?: number
  abort?: AbortSignal
  /** Framework and package manager from the project's settings, which override its files. */
  framework?: string
  packageManager?: string
  /** Compose file or Dockerfile from the settings, relative to `rootDirectory`; it overrides every other file. */
  composePath?: string
  /** Enabled Compose profiles. */
  composeProfiles?: readonly string[]
  dockerfilePath?: string
  /** Frameworks to exclude, for a runtime that does not support them: `['dockerfile', 'compose']`. */
  without?: readonly string[]
  /** The project's variables, for files that reference them. Without them, files with values (`.env`) are not opened. */
  variables?: Readonly<Record<string, string>>
}

/** Warnings about files that the runtime does not support. */
const notUsed = {
  dockerfile: 'its Dockerfile is not used: that needs Docker',
  compose: 'its Compose file is not used: that needs Docker',
}

/** Stacks that define build and start entirely: no other file counts. */
const imageStacks = ['compose', 'dockerfile']

/** Detects from a folder's files how to build and run it. No file is executed, and no file outside the folder is read. */
export async function detectFolder(folder: string, options: DetectOptions = {}): Promise<Detection> {
  const { rootDirectory = '', maxFiles = 50_000, abort } = options
  const path = insideFolder(rootDirectory || '.')
  if (path === null) throw new RootDirectoryError(`rootDirectory "${rootDirectory}" is outside the project. Name a folder in it.`)
  const root = await Folder.open(folder, { maxFiles, abort, rootDirectory: path })
  const configured = await configuredStacks(appFolder(root, path), options)
  const detection = await detectAt(root, path, options, configured)
  if (configured) return limitFields(detection, root)
  const own = path === '.' ? await chooseOnlyApp(detection, root, options) : detection
  return limitFields(await applyFramework(own, root, path, options), root)
}

/** The stack row of the file in the settings; throws `SourceFileError` when the folder does not contain it. */
async function configuredStacks(
  folder: Folder,
  { composePath, dockerfilePath }: DetectOptions,
): Promise<readonly Stack[] | undefined> {
  if (composePath) await requireFile(folder, 'composePath', composePath)
  if (dockerfilePath) await requireFile(folder, 'dockerfilePath', dockerfilePath)
  if (composePath) return anyCompose
  return dockerfilePath ? [dockerfileAt(posix.normalize(dockerfilePath))] : undefined
}

async function requireFile(folder: Folder, setting: 'composePath' | 'dockerfilePath', path: string): Promise<void> {
  const inside = insideFolder(path)
  const next = `set ${setting} to a file of the project, or to null`
  if (inside === null) throw new SourceFileError(`${setting} "${path}" leads out of the project: ${next}`)
  if (!folder.has(inside)) throw new SourceFileError(`${setting}: "${folder.full(inside)}" does not exist in the source: ${next}`)
  if ((await folder.text(inside)) === null)
    throw new SourceFileError(
      `${setting}: "${folder.full(inside)}" cannot be read: it is larger than 1 MiB, or a link out of the project: ${next}`,
    )
}

/** Monorepo tools: the apps themselves are detected. */
const workspaceTools = ['turborepo', 'nx', 'lerna', 'pnpm-workspaces', 'workspaces']

/** Applies the framework from the settings. A framework that the runtime does not support is ignored: the detected one is used. */
async function applyFramework(own: Detection, root: Folder, path: string, options: DetectOptions): Promise<Detection> {
  const { framework, without = [] } = options
  const isUnsupported = framework !== undefined && [own.unsupportedFramework, ...without].includes(framework)
  const isDecided = !framework || framework === own.framework || isUnsupported || workspaceTools.includes(framework)
  const rows = isDecided ? [] : stacks.filter((stack) => stack.framework === framework)
  if (rows.length === 0) return own
  return detectAt(root, path, options, rows).catch((error: unknown) => {
    if (!(error instanceof TypeError)) throw error
    // The plan reads a manifest that the folder does not have.
    const alternative = own.framework ? ` or to ${own.framework}` : ' to detect it'
    const mismatch = `framework is set to ${framework}, and the source has no manifest of it: set framework to null${alternative}`
    return { ...own, mismatch }
  })
}

async function detectAt(root: Folder, path: string, options: DetectOptions, rows?: readonly Stack[]): Promise<Detection> {
  const { abort, without = [], variables, packageManager, composePath, composeProfiles } = options
  const app: App = {
    ...(await readApp(appFolder(root, path))),
    ...(variables ? { variables } : {}),
    ...(packageManager ? { packageManager } : {}),
    ...(composePath ? { composePath: posix.normalize(composePath) } : {}),
    ...(composeProfiles ? { composeProfiles } : {}),
  }
  const { match, unsupportedFramework: excluded } = rows ? { match: await chosenRow(app, rows) } : await chooseStack(app, without)
  abort?.throwIfAborted()
  const isImage = match !== null && imageStacks.includes(match.stack.framework)
  const own = match ? await match.stack.plan(app) : await emptyPlan(app, excluded)
  const plan =
    match && !isImage
      ? await withPrismaClient(app, await applyPlatformFiles(app, await applyProcfile(app, own), match.stack.framework))
      : own
  const named = await runtimeVersions(app)
  const versions = isImage ? named : await withNodeForOldWebpack(app, named)
  const examples = await exampleVariables(app.folder)
  const composeWarning =
    match && ![match.stack.framework, excluded, ...without].includes('compose') ? await composeNotUsedWarning(app) : null
  const unused = excluded && excluded in notUsed ? [notUsed[excluded as keyof typeof notUsed]] : []
  const other = managerWarnings(app, plan, packageManager)
  const warnings = [
    ...(plan.warnings ?? []),
    ...versions.warnings,
    ...(composeWarning ? [composeWarning] : []),
    ...unused,
    ...other,
  ]
  const evidence = [...(match?.evidence ?? []), ...(plan.evidence ?? []), ...versions.evidence]
  return {
    name: plan.name || manifestName(app, plan) || app.folder.name,
    framework: match?.stack.framework ?? null,
    language: plan.language,
    packageManager: plan.packageManager ?? null,
    installCommand: plan.installCommand ?? null,
    buildCommand: plan.buildCommand ?? null,
    startCommand: plan.startCommand ?? null,
    outputDirectory: plan.outputDirectory ?? null,
    port: plan.port ?? null,
    type: plan.type,
    services: plan.services ?? [],
    apps: plan.apps ?? [],
    runtimeVersion: versions.versions,
    evidence,
    warnings,
    ...(plan.healthPath ? { healthPath: plan.healthPath } : {}),
    ...(plan.serviceVariables ? { serviceVariables: plan.serviceVariables } : {}),
    ...(plan.serviceFiles ? { serviceFiles: plan.serviceFiles } : {}),
    ...(plan.siteRules ? { siteRules: plan.siteRules } : {}),
    ...(examples ? { exampleVariables: examples } : {}),
    ...(plan.refused?.length ? { refused: plan.refused } : {}),
    ...(excluded === undefined ? {} : { unsupportedFramework: excluded }),
  }
}

/** The row whose signs match, else the most general one: the last row, or the first one for static pages. */
async function chosenRow(app: App, rows: readonly Stack[]): Promise<Match> {
  const found = await firstMatch(app, rows)
  if (found) return found
  const general = (rows[0]?.framework === 'static' ? rows[0] : rows.at(-1)) as Stack
  return { stack: general, evidence: [{ file: '', says: `framework is set to ${general.framework}` }] }
}

/** The first usable stack, and the excluded one that would have come first. */
async function chooseStack(
  app: App,
  without: readonly string[],
): Promise<{ match: Match | null; unsupportedFramework?: string }> {
  const first = await firstMatch(app, stacks)
  if (!first) return { match: null }
  // Without Docker, a Compose file that only wraps the project's Dockerfile is excluded with it.
  const isWrapper = first.stack.framework === 'compose' && without.includes('dockerfile') && (await isComposeOfOne(app))
  const excluded = isWrapper ? [...without, 'compose'] : without
  if (!excluded.includes(first.stack.framework)) return { match: first }
  const usable = stacks.filter(({ framework }) => !excluded.includes(framework))
  return { match: await firstMatch(app, usable), unsupportedFramework: first.stack.framework }
}

/** Warns about a package manager from the settings that the plan does not use. */
function managerWarnings({ manifests }: App, plan: Plan, wanted: string | undefined): string[] {
  const isUsed = plan.packageManager === wanted || (manifests.npm && javascriptManagers.some((one) => one === wanted))
  return !wanted || isUsed
    ? []
    : [`packageManager is set to ${wanted}, which has no effect here: ${plan.packageManager ?? 'no package manager'} is used`]
}

/** Chooses the only app of the project when the root itself starts nothing. */
async function chooseOnlyApp(detection: Detection, root: Folder, options: DetectOptions): Promise<Detection> {
  const [app, another] = detection.apps
  if (!app || another || detection.startCommand) return detection
  const chosen = await detectAt(root, app.path, options)
  return {
    ...chosen,
    rootDirectory: app.path,
    evidence: [{ file: app.path, says: 'the only app of the project: it is used as the root directory' }, ...chosen.evidence],
  }
}

function appFolder(root: Folder, path: string): Folder {
  if (path === '.') return root
  if (!root.hasFolder(path)) throw new RootDirectoryError(noSuchFolder(root, path))
  return root.at(path)
}

const maxListedFolders = 8

/** Error text for a missing folder: lists the folders of its nearest existing parent. */
function noSuchFolder(root: Folder, path: string): string {
  const parts = path.split('/')
  while (parts.length > 0 && !root.hasFolder(parts.join('/'))) parts.pop()
  const parent = root.at(parts.join('/') || '.')
  const names = parent.folders.filter((name) => !/^\.|[\0-\x1f\x7f]/.test(name)).map((name) => `"${parent.full(name)}"`)
  const listed = names.length > maxListedFolders ? [...names.slice(0, maxListedFolders), '…'] : names
  const alternatives = listed.length > 0 ? `there is ${listed.join(', ')}` : 'there are no folders in it'
  return `There is no folder "${path}" in the project: set rootDirectory to one that exists (${alternatives}), or to null for the project's own`
}

/** The plan of a folder without any signs; its subfolders may contain apps. */
async function emptyPlan({ folder }: App, excluded: string | undefined): Promise<Plan> {
  const apps = await subfolderApps(folder, appStacks)
  const noSigns =
    excluded === undefined ? ['no build or start command was found: add a Dockerfile, or set the start command'] : []
  return { type: 'app', language: null, apps, warnings: apps.length > 0 ? [chooseOne(apps.map((app) => app.path))] : noSigns }
}

const manifestName = ({ manifests }: App, { ecosystem }: Plan) =>
  (ecosystem ? [manifests[ecosystem]] : Object.values(manifests))
    .find((manifest) => manifest?.name)
    ?.name?.replace(/^@[^/]*\//, '')

/** Limits the detection to the bounds of a project's fields: values from files may have any size and content. */
function limitFields(detection: Detection, root: Folder): Detection {
  const warnings = [...detection.warnings]
  const command = (name: string, line: string | null) => {
    if (line === null || (line.length <= 500 && !/[\0-\x1f]/.test(line))) return line
    warnings.push(`the ${name} command is longer than 500 characters or contains control characters; it is ignored`)
    return null
  }
  const output = detection.outputDirectory === null ? null : insideFolder(detection.outputDirectory)
  if (output === null && detection.outputDirectory !== null)
    warnings.push('the output directory leads out of the folder; it is ignored')
  return {
    ...detection,
    name: cleanName(detection.name ?? '') || null,
    installCommand: command('install', detection.installCommand),
    buildCommand: command('build', detection.buildCommand),
    startCommand: command('start', detection.startCommand),
    outputDirectory: output,
    ...(detection.healthPath && !/^\/[^\s\0-\x1f]{0,200}$/.test(detection.healthPath) ? { healthPath: undefined } : {}),
    evidence: uniqueEvidence(detection.evidence).slice(0, 200),
    warnings: [...new Set([...warnings, ...root.warnings].map(truncate))].slice(0, 100),
    ...(detection.refused ? { refused: detection.refused.slice(0, 100).map(truncate) } : {}),
  }
}

function insideFolder(path: string): string | null {
  const normal = posix.normalize(path).replace(/(?<=.)\/$/, '')
  return leadsOutside(normal) || normal.length > 200 || /[\\\0-\x1f]/.test(normal) ? null : normal
}

const truncate = (message: string) => (message.length > 1000 ? `${message.slice(0, 999)}…` : message)

/**
 * Makes a valid project name: one line, without terminal control or bidirectional characters. Empty where no visible character is
 * left.
 */
export function cleanName(name: string): string {
  const clean = name
    .replace(/[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, '')
    .trim()
    .slice(0, 100)
    .toWellFormed()
  return /[^\s\u200b-\u200f\u2060-\u2064\ufeff]/.test(clean) ? clean : ''
}

const uniqueEvidence = (evidence: Evidence[]) => [...new Map(evidence.map((one) => [`${one.file} ${one.says}`, one])).values()]
