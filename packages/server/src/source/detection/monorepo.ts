import { dig, recordOf, textOf, textsOf } from '../values.ts'
import type { DetectedApp } from './detection.ts'
import type { Folder } from './folder.ts'
import { readNpm } from './manifests/npm.ts'
import { type App, firstMatch, readApp, type Stack } from './stack.ts'

/** The apps below a folder. `stacks` are the rows that one of them may be. */

const maxPackages = 200
const maxGlobs = 50

/** The packages of a workspace that are apps, without libraries; `null` if the folder is not a workspace. */
export const workspaceApps = (folder: Folder, stacks: readonly Stack[]): Promise<DetectedApp[] | null> =>
  folder.once('workspace', () => findWorkspaceApps(folder, stacks))

async function findWorkspaceApps(folder: Folder, stacks: readonly Stack[]): Promise<DetectedApp[] | null> {
  const paths = await workspacePackages(folder)
  const isNx = folder.has('nx.json')
  if (!paths && !isNx) return null
  const packages = await appsAt(folder, paths ?? [], stacks)
  const others = isNx ? await nxApps(folder, new Set(packages.map((app) => app.path))) : []
  return [...packages, ...others].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Folders of a workspace's packages; `null` when the folder is not a workspace. */
export const workspacePackages = (folder: Folder): Promise<string[] | null> =>
  folder.once('packages', () => findWorkspacePackages(folder))

async function findWorkspacePackages(folder: Folder): Promise<string[] | null> {
  const globs = await workspaceGlobs(folder)
  if (!globs) return null
  const paths = new Set<string>()
  for (const glob of globs.slice(0, maxGlobs)) {
    const isExcluded = glob.startsWith('!')
    for (const path of folder.findFolders(toPattern(glob))) {
      if (isExcluded) paths.delete(path)
      else if (path !== '' && folder.at(path).has('package.json')) paths.add(path)
    }
  }
  return [...paths].sort().slice(0, maxPackages)
}

/** Apps in the subfolders of a project whose root has no signs, such as `backend` and `frontend`. */
export async function subfolderApps(folder: Folder, stacks: readonly Stack[]): Promise<DetectedApp[]> {
  const direct = await appsAt(folder, folder.findFolders('*').slice(0, maxPackages), stacks)
  if (direct.length > 0) return direct
  return appsAt(folder, folder.findFolders('*/*').slice(0, maxPackages), stacks)
}

async function appsAt(folder: Folder, paths: string[], stacks: readonly Stack[]): Promise<DetectedApp[]> {
  const found = await Promise.all(
    paths.map(async (path) => {
      const app = await readApp(folder.at(path))
      const match = await firstMatch(app, stacks)
      return match && !(await isLibrary(app, match.stack)) ? [{ name: appName(app), path, framework: match.stack.framework }] : []
    }),
  )
  return found.flat()
}

/** A Node package without a framework is a library unless it has a start script; a Go or Rust package, unless it has a program. */
async function isLibrary(app: App, { framework, plan }: Stack): Promise<boolean> {
  if (framework === 'node' || framework === 'bun') return !app.manifests.npm?.scripts.has('start')
  return (framework === 'go' || framework === 'rust') && !(await plan(app)).startCommand
}

const appName = ({ folder, manifests }: App) => manifests.npm?.name?.replace(/^@[^/]*\//, '').slice(0, 100) || folder.name

const toPattern = (glob: string) =>
  glob
    .replace(/^!/, '')
    .replace(/^\.\//, '')
    .split('/')
    .filter((part, index, parts) => part !== '' && !(part === '**' && parts[index - 1] === '**'))
    .slice(0, 8)
    .join('/')

async function workspaceGlobs(folder: Folder): Promise<string[] | null> {
  const pnpmFile = await folder.text('pnpm-workspace.yaml')
  if (pnpmFile !== null) return listBelow(pnpmFile, 'packages')
  const { workspaces } = (await readNpm(folder)) ?? {}
  if (workspaces) return workspaces
  const lernaFile = await folder.json('lerna.json')
  return lernaFile === null ? null : textsOf(dig(lernaFile, 'packages'))
}

/** The items of a list in a YAML file with one item per line, which is the usual form of this file. */
function listBelow(yaml: string, key: string): string[] {
  const lines = yaml.split('\n')
  const start = lines.findIndex((line) => line.startsWith(`${key}:`))
  const items: string[] = []
  for (const line of start < 0 ? [] : lines.slice(start + 1)) {
    const item = /^ {0,8}- *["']?([^"'#\s]{1,200})/.exec(line)?.[1]
    if (item) items.push(item)
    else if (/^[^\s#-]/.test(line)) break
  }
  return items
}

/** Frameworks by the executor of an Nx build. */
const executors: readonly [RegExp, string][] = [
  [/next/, 'nextjs'],
  [/nuxt/, 'nuxt'],
  [/remix/, 'remix'],
  [/angular/, 'angular'],
  [/nest/, 'nestjs'],
  [/vite/, 'vite'],
  [/node|js:|esbuild|webpack/, 'node'],
]

/** Frameworks by the file from which a plugin of Nx infers the build. */
const inferred: readonly [RegExp, string][] = [
  [/^next\.config\./, 'nextjs'],
  [/^nuxt\.config\./, 'nuxt'],
  [/^vite\.config\./, 'vite'],
  [/^(?:webpack|rspack)\.config\./, 'node'],
]

const hasFile = (folder: Folder, sign: RegExp) => folder.files.some((name) => sign.test(name))

async function nxApps(folder: Folder, known: ReadonlySet<string>): Promise<DetectedApp[]> {
  const files = folder.find('**/project.json').slice(0, maxPackages)
  const found = await Promise.all(
    files.map(async (file) => {
      const path = file.slice(0, file.lastIndexOf('/'))
      const project = recordOf(await folder.json(file))
      if (project.projectType !== 'application' || known.has(path) || !file.includes('/') || /-e2e$/.test(path)) return []
      const executor = textOf(dig(project, 'targets', 'build', 'executor')) ?? ''
      return [
        {
          name: textOf(project.name)?.slice(0, 100) ?? folder.at(path).name,
          path,
          framework:
            (executors.find(([pattern]) => pattern.test(executor)) ??
              inferred.find(([sign]) => hasFile(folder.at(path), sign)))?.[1] ?? null,
        },
      ]
    }),
  )
  return found.flat()
}
