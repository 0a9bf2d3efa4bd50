import { posix } from 'node:path'
import { leadsOutside } from '../../leads-outside.ts'
import { dig, textOf, textsOf } from '../../values.ts'
import { quoted } from '../commands.ts'
import type { DetectedApp } from '../detection.ts'
import { isDevelopmentServer } from '../development-server.ts'
import { type JavascriptTools, javascriptTools } from '../javascript-tools.ts'
import { workspaceApps } from '../monorepo.ts'
import { scriptRuns } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'
import { javascriptLanguage } from './node-plans.ts'

/** The tool that runs a monorepo's tasks, by its file. */
const tools: readonly [string, string][] = [
  ['turbo.json', 'turborepo'],
  ['nx.json', 'nx'],
  ['lerna.json', 'lerna'],
  ['pnpm-workspace.yaml', 'pnpm-workspaces'],
]

/** A workspace root that is not an app itself. `appStacks` are the possible stacks of its apps. */
export const monorepo = (appStacks: readonly Stack[]): readonly Stack[] =>
  [...tools, ['package.json', 'workspaces'] as const].map(([file, framework]) => ({
    framework,
    when: async (app) => {
      if (!app.folder.has(file) || isAppItself(app)) return null
      const apps = await workspaceApps(app.folder, appStacks)
      return apps && apps.length > 0
        ? [{ file: app.folder.full(file), says: `contains ${apps.length} ${apps.length > 1 ? 'apps' : 'app'} together` }]
        : null
    },
    plan: (app) => monorepoPlan(app, appStacks),
  }))

/** Whether the root itself is an app, which has its own sources. */
const isAppItself = ({ folder }: App) =>
  ['src', 'app', 'pages'].some((name) => folder.hasFolder(name)) ||
  ['index.html', 'index.js', 'index.ts', 'server.js', 'server.ts'].some((name) => folder.has(name))

async function monorepoPlan(app: App, appStacks: readonly Stack[]): Promise<Plan> {
  const apps = (await workspaceApps(app.folder, appStacks)) ?? []
  const packageTools = await javascriptTools(app)
  const [only, another] = apps
  if (only && !another && !app.folder.at(only.path).has('package.json')) return nxPlan(app, only, packageTools)
  const scripts = ['build', 'start'].filter((name) => {
    const script = app.manifests.npm?.scripts.get(name)
    return script !== undefined && !(name === 'start' && isDevelopmentServer(script))
  })
  return {
    type: 'app',
    language: javascriptLanguage(app),
    packageManager: packageTools.manager,
    installCommand: packageTools.install,
    buildCommand: scripts.includes('build') ? packageTools.run('build') : null,
    startCommand: scripts.includes('start') ? packageTools.run('start') : null,
    apps,
    evidence: [...packageTools.evidence, ...scripts.map((name) => scriptRuns(app, name))],
    warnings: [...packageTools.warnings, chooseOne(apps.map((one) => one.path))],
  }
}

/** The folder that the build writes, relative to the root: from the target, else from the config of Vite or webpack. */
async function nxOutput(app: App, path: string, build: unknown): Promise<string> {
  const declared = dig(build, 'options', 'outputPath')
  const own = textOf(declared) ?? textOf(dig(declared, 'base')) ?? textsOf(dig(build, 'outputs'))?.[0]
  if (own && !/\{(?!workspaceRoot|projectRoot)/.test(own))
    return posix.normalize(own.replaceAll('{workspaceRoot}', '.').replaceAll('{projectRoot}', path))
  const folder = app.folder.at(path)
  const config = folder.files.find((name) => /^(?:vite|webpack|rspack)\.config\.[cm]?[jt]s$/.test(name))
  const text = config ? ((await folder.text(config)) ?? '') : ''
  const written = /\b(?:outDir:|path: {0,4}(?:path\.)?(?:join|resolve)\(__dirname,) {0,4}['"]([\w./-]{1,200})['"]/.exec(text)?.[1]
  const inside = written && posix.join(path, written)
  return inside && !leadsOutside(inside) ? inside : `dist/${path}`
}

/** Plan of an Nx app without its own package: it is built from the root, and its output is below the root. */
async function nxPlan(app: App, { name, path, framework }: DetectedApp, tools: JavascriptTools): Promise<Plan> {
  const file = `${path}/project.json`
  const build = dig(await app.folder.json(file), 'targets', 'build')
  const output = await nxOutput(app, path, build)
  const usesApplicationBuilder = /:application$/.test(textOf(dig(build, 'executor')) ?? '')
  const outcome: Record<string, Partial<Plan>> = {
    angular: { type: 'static', outputDirectory: usesApplicationBuilder ? `${output}/browser` : output },
    vite: { type: 'static', outputDirectory: output },
    nextjs: { startCommand: tools.tool(`next start ${quoted(output)}`), port: 3000 },
    nestjs: { startCommand: `node ${quoted(`${output}/main.js`)}`, port: 3000 },
    node: { startCommand: `node ${quoted(`${output}/main.js`)}`, port: 3000 },
  }
  const plan = outcome[framework ?? '']
  return {
    type: 'app',
    language: javascriptLanguage(app),
    packageManager: tools.manager,
    installCommand: tools.install,
    buildCommand: tools.tool(`nx build ${quoted(name)}`),
    ...plan,
    evidence: [...tools.evidence, { file: app.folder.full(file), says: `${name} is built into ${output}` }],
    warnings: [...tools.warnings, ...(plan ? [] : ['no start command was found: add a start script or set the start command'])],
  }
}

export const chooseOne = (paths: string[]) => `set the root directory to one of the apps: ${paths.slice(0, 20).join(', ')}`
