import { posix } from 'node:path'
import { dig, textOf } from '../../values.ts'
import { joinCommands, quoted } from '../commands.ts'
import type { Evidence } from '../detection.ts'
import { executedProgram, isDevelopmentServer, watchedProgram } from '../development-server.ts'
import { type JavascriptTools, javascriptTools } from '../javascript-tools.ts'
import { finalScript } from '../package-scripts.ts'
import { fixedPortWarnings, type PortHint, portInCode, portInCommand } from '../port-hints.ts'
import { clip, has, scriptRuns } from '../signs.ts'
import { stripComments } from '../source-text.ts'
import type { App, Plan } from '../stack.ts'
import { scriptCommand } from '../start-script.ts'
import { siblingsToBuild } from '../workspace-siblings.ts'

/** Build settings of a JavaScript stack; scripts of `package.json` take precedence. */
interface Building {
  /** The framework's own build command, used when no script builds it. */
  build?: string
  buildScripts?: readonly string[]
  warnings?: readonly string[]
}
export interface SiteRow extends Building {
  output: string | ((app: App) => string | Promise<string>)
}
export interface ServerRow extends Building {
  port: number
  startScripts?: readonly string[]
  /** Start command, used when no script starts the app. */
  start?: string | ((app: App, tools: JavascriptTools) => Promise<string | null>)
  /** Tool from the dependencies, used when no script starts the app. */
  startTool?: string
  type?: 'app' | 'worker'
}

/** Plan of a static site. */
export const site =
  (row: SiteRow) =>
  async (app: App): Promise<Plan> => {
    const tools = await javascriptTools(app)
    const build = await buildCommand(app, tools, row)
    return {
      ...basics(app, tools),
      type: 'static',
      buildCommand: build.command,
      outputDirectory: typeof row.output === 'string' ? row.output : await row.output(app),
      evidence: [...tools.evidence, ...build.evidence],
      warnings: [...tools.warnings, ...(row.warnings ?? [])],
    }
  }

/** Plan of a program that keeps running. */
export const server =
  (row: ServerRow) =>
  async (app: App): Promise<Plan> => {
    const tools = await javascriptTools(app)
    const build = await buildCommand(app, tools, row)
    const start = await startCommand(app, tools, row)
    const type = row.type ?? 'app'
    const hint = type === 'app' ? await portHint(app, start.script) : null
    return {
      ...basics(app, tools),
      type,
      buildCommand: build.command,
      startCommand: start.command,
      port: type === 'app' ? (hint?.port ?? row.port) : null,
      evidence: [...tools.evidence, ...build.evidence, ...start.evidence, ...(hint ? [hint.evidence] : [])],
      warnings: [...tools.warnings, ...start.warnings, ...fixedPortWarnings(hint), ...(row.warnings ?? [])],
    }
  }

export const javascriptLanguage = (app: App): 'typescript' | 'javascript' =>
  app.folder.has('tsconfig.json') || has(app, 'npm', 'typescript') ? 'typescript' : 'javascript'

const basics = (app: App, tools: JavascriptTools) => ({
  language: javascriptLanguage(app),
  packageManager: tools.manager,
  installCommand: tools.install,
})

/** The build command. Workspace packages that the app needs are built before it. */
async function buildCommand(
  app: App,
  tools: JavascriptTools,
  row: Building,
): Promise<{ command: string | null; evidence: Evidence[] }> {
  const own = ownBuild(app, tools, row)
  const siblings = await siblingsToBuild(app)
  return {
    command: [...siblings.map(({ name }) => tools.runIn(name, 'build')), own.command].reduce(joinCommands, null),
    evidence: [
      ...siblings.map(({ name, folder }) => ({ file: folder.full('package.json'), says: `${name} is built first` })),
      ...own.evidence,
    ],
  }
}

function ownBuild(app: App, tools: JavascriptTools, row: Building): { command: string | null; evidence: Evidence[] } {
  const scripts = app.manifests.npm?.scripts
  const name = (row.buildScripts ?? ['build']).find((one) => scripts?.has(one))
  if (name === undefined) return { command: row.build ? tools.tool(row.build) : null, evidence: [] }
  return { command: tools.run(name), evidence: [scriptRuns(app, name)] }
}

interface Start {
  command: string | null
  /** The command of the start script, if a script starts the app. */
  script: string | null
  evidence: Evidence[]
  warnings: string[]
}

/** `start:prod` is common next to a `start` that watches, or without one. */
const usualStarts: readonly string[] = ['start', 'start:prod']

async function startCommand(app: App, tools: JavascriptTools, row: ServerRow): Promise<Start> {
  const scripts = app.manifests.npm?.scripts
  const names = (row.startScripts ?? usualStarts).filter((name) => scripts?.has(name))
  const name = names.find((one) => !isDevelopmentServer(finalScript(scripts!, one).line))
  if (name !== undefined)
    return {
      command: await scriptCommand(app, tools, name),
      script: finalScript(scripts!, name).line,
      evidence: [scriptRuns(app, name)],
      warnings: [],
    }
  const [development] = names
  const watcher = development === undefined ? '' : finalScript(scripts!, development).line
  const executed = executedProgram(watcher)
  const watched = executed ? tools.tool(executed) : watchedProgram(watcher)
  const own = watched ?? (typeof row.start === 'function' ? await row.start(app, tools) : (row.start ?? null))
  const command = own ?? (row.startTool ? tools.tool(row.startTool) : null)
  if (development === undefined)
    return {
      command,
      script: null,
      evidence: [],
      warnings: command ? [] : ['no start command was found: add a start script or set the start command'],
    }
  const warning = `the script ${development} runs a development server (${clip(scripts!.get(development)!)})`
  return {
    command: command ?? tools.run(development),
    script: null,
    evidence: command ? [] : [scriptRuns(app, development)],
    warnings: [command ? `${warning}; it is not used` : warning],
  }
}

const entries = ['server', 'index', 'app', 'main', 'src/server', 'src/index', 'src/app', 'src/main'].flatMap((name) =>
  ['.js', '.mjs', '.cjs', '.ts'].map((ending) => name + ending),
)

/** The program's entry file: `main` of the manifest, else a usual name. */
export function entryFile({ folder, manifests }: App): string | null {
  const main = manifests.npm?.main?.replace(/^\.\//, '')
  return [main, `${main}.js`, ...entries].find((name) => name && folder.has(name)) ?? null
}

/** A command that runs the entry file directly, where the runtime supports it: `node server.js`. */
export async function startEntry(app: App, { manager, tool }: JavascriptTools): Promise<string | null> {
  const built = await builtByNx(app)
  if (built) return `node ${quoted(built)}`
  const entry = entryFile(app)
  if (entry === null) return null
  if (manager === 'bun') return `bun run ${quoted(entry)}`
  if (!entry.endsWith('.ts')) return `node ${quoted(entry)}`
  // A TypeScript entry file is a program only if it opens a port; otherwise it may be a library.
  if (!/\.listen\(|\bserve\(/.test(stripComments((await app.folder.text(entry)) ?? ''))) return null
  return has(app, 'npm', 'tsx') ? tool(`tsx ${quoted(entry)}`) : `node ${quoted(entry)}`
}

/** The output file of an Nx project, from its build settings. */
async function builtByNx({ folder }: App): Promise<string | null> {
  const build = folder.has('nx.json') ? dig(await folder.json('project.json'), 'targets', 'build') : null
  const [output, main] = ['outputPath', 'main'].map((name) => textOf(dig(build, 'options', name)))
  return output && main ? `${output}/${posix.basename(main).replace(/\.[cm]?tsx?$/, '')}.js` : null
}

async function portHint(app: App, script: string | null): Promise<PortHint | null> {
  const portInScript = script === null ? null : portInCommand(script, app.folder.full('package.json'))
  if (portInScript) return portInScript
  const started = /(?:^|\s)(?:node|tsx|ts-node|bun)(?: run)?(?: -\S+)* (\.?[\w./-]+)/
    .exec(script ?? '')?.[1]
    ?.replace(/^\.\//, '')
  // The build output does not exist yet, so its source is read.
  const source = started?.replace(/^(dist|build|out|lib)\//, 'src/').replace(/\.js$/, '')
  const candidates = [started, `${started}.js`, `${source}.ts`, `${source}.js`, entryFile(app)]
  const entry = candidates.find((name) => name && app.folder.has(name))
  return entry ? portInCode(app.folder, entry) : null
}
