import { quoted } from './commands.ts'
import type { Evidence } from './detection.ts'
import type { Folder } from './folder.ts'
import { readNpm } from './manifests/npm.ts'
import { scriptRuns } from './signs.ts'
import type { App } from './stack.ts'

export const javascriptManagers = ['npm', 'pnpm', 'yarn', 'bun'] as const
export type JavascriptManager = (typeof javascriptManagers)[number]

/** Commands of the project's package manager to install, run a script and run a tool of the dependencies. */
export interface JavascriptTools {
  manager: JavascriptManager
  install: string | null
  run: (script: string) => string
  tool: (command: string) => string
  /** Runs a script of another package of the same workspace. */
  runIn: (name: string, script: string) => string
  /** How Node finds the dependencies: `node_modules` next to the app, one in a parent folder, or a loader (Plug'n'Play). */
  resolution: 'own-folder' | 'workspace' | 'loader'
  evidence: Evidence[]
  warnings: string[]
}

/** Lockfiles by precedence. npm comes last: Node includes it, so only the lockfile of another package manager shows a choice. */
const lockfiles: readonly [string, JavascriptManager][] = [
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
]
const frozen = { npm: 'npm ci', pnpm: 'pnpm install --frozen-lockfile', bun: 'bun install --frozen-lockfile' }
/** None of them downloads a missing tool: a package of that name may belong to an attacker. */
const toolRunners = { npm: 'npx --no-install', pnpm: 'pnpm exec', yarn: 'yarn run', bun: 'bunx --no-install' }

const runIn: Record<JavascriptManager, (name: string, script: string) => string> = {
  npm: (name, script) => `npm run ${script} --workspace ${name}`,
  pnpm: (name, script) => `pnpm --filter ${name} run ${script}`,
  yarn: (name, script) => `yarn workspace ${name} run ${script}`,
  bun: (name, script) => `bun run --filter ${name} ${script}`,
}

export async function javascriptTools(app: App): Promise<JavascriptTools> {
  const chosen = javascriptManagers.find((one) => one === app.packageManager)
  const declared = await managerField(app.folder)
  const field = chosen && declared?.manager !== chosen ? null : declared
  const location = app.folder.upwards.find((folder) => lockfiles.some(([file]) => folder.has(file)))
  const locks = lockfiles.filter(([file]) => location?.has(file))
  const preferred = chosen ?? field?.manager
  const lock = locks.find(([, manager]) => manager === preferred) ?? (preferred ? undefined : locks[0])
  const bunScript = preferred || lock ? null : findBunScript(app)
  const manager = preferred ?? lock?.[1] ?? (bunScript === null ? 'npm' : 'bun')
  const evidence: Evidence[] = field ? [{ file: field.file, says: `packageManager is ${field.text}` }] : []
  if (bunScript !== null) evidence.push(scriptRuns(app, bunScript))
  if (location && lock) evidence.push({ file: location.full(lock[0]), says: `${manager} is the package manager` })
  return {
    manager,
    install: location && lock ? await frozenInstall(manager, location, field) : needsInstall(app) ? `${manager} install` : null,
    run: (script) => `${manager} run ${script}`,
    tool: (command) => `${toolRunners[manager]} ${command}`,
    runIn: (name, script) => runIn[manager](quoted(name), script),
    resolution: await resolutionOf(app, manager, location, field),
    evidence,
    warnings: warningsOf(
      manager,
      locks.map(([file]) => file),
      lock?.[0],
      needsInstall(app),
    ),
  }
}

/** A script run by Bun, which without a lockfile is the only sign of a Bun project. */
function findBunScript({ manifests }: App): string | null {
  const scripts = [...(manifests.npm?.scripts ?? [])]
  return scripts.find(([, line]) => /^bun (?:run |--|\S+\.[jt]sx?(?:\s|$))/.test(line))?.[0] ?? null
}

interface ManagerField {
  manager: JavascriptManager
  major: number
  text: string
  file: string
}

async function managerField(folder: Folder): Promise<ManagerField | null> {
  for (const location of folder.upwards) {
    const text = (await readNpm(location))?.packageManager?.slice(0, 60)
    const match = /^(npm|pnpm|yarn|bun)@(\d{1,4})/.exec(text ?? '')
    if (text && match)
      return {
        manager: match[1] as JavascriptManager,
        major: Number(match[2]),
        text: text.split('+')[0]!,
        file: location.full('package.json'),
      }
  }
  return null
}

async function frozenInstall(manager: JavascriptManager, location: Folder, field: ManagerField | null): Promise<string> {
  if (manager !== 'yarn') return frozen[manager]
  return (await isBerry(location, field)) ? 'yarn install --immutable' : 'yarn install --frozen-lockfile'
}

/** Yarn 2 or later. */
const isBerry = async (location: Folder, field: ManagerField | null): Promise<boolean> =>
  field ? field.major >= 2 : /^__metadata:/m.test((await location.head('yarn.lock')) ?? '') || location.has('.yarnrc.yml')

async function resolutionOf(
  { folder }: App,
  manager: JavascriptManager,
  location: Folder | undefined,
  field: ManagerField | null,
): Promise<JavascriptTools['resolution']> {
  const root = location ?? folder
  if (manager === 'yarn' && (await isBerry(root, field))) {
    const settings = (await root.text('.yarnrc.yml')) ?? ''
    if (!/^nodeLinker:\s*["']?(?:node-modules|pnpm)\b/m.test(settings)) return 'loader'
  }
  return root.path === folder.path ? 'own-folder' : 'workspace'
}

const needsInstall = ({ manifests: { npm } }: App) => Boolean(npm && (npm.dependencies.size > 0 || npm.workspaces))

function warningsOf(manager: JavascriptManager, found: string[], used: string | undefined, needed: boolean): string[] {
  const others = found.filter((file) => file !== used)
  // Bun writes the old and the new lockfile format side by side.
  const conflict = others.filter((file) => !(used?.startsWith('bun.lock') && file.startsWith('bun.lock')))
  return [
    ...(conflict.length > 0
      ? [`${manager} is used, but ${conflict.join(' and ')} ${conflict.length > 1 ? 'are' : 'is'} there too`]
      : []),
    ...(!used && needed ? [`there is no lockfile of ${manager}; two installs may differ`] : []),
  ]
}
