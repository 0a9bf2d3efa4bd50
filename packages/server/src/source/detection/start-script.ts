import { parseCommandLine } from '../../platform/command-line.ts'
import type { JavascriptTools } from './javascript-tools.ts'
import { finalScript, hasHooks } from './package-scripts.ts'
import type { App } from './stack.ts'

/**
 * What runs a script of `package.json`: the script's own command where that is one program, since a package manager and a
 * shell beside it cost memory, stand between the app and its signals and overwrite variables; else the package manager.
 */
export async function scriptCommand(app: App, tools: JavascriptTools, name: string): Promise<string> {
  const { scripts } = app.manifests.npm!
  const command = finalScript(scripts, name).line.trim()
  const words = parseCommandLine(command)
  const isDirect =
    Array.isArray(words) &&
    command.length <= longestCommand &&
    !hasHooks(scripts, name) &&
    !callsScripts(words, scripts) &&
    isInPath(words[0] ?? '', tools) &&
    !(await needsManager(app, words))
  return isDirect ? command : tools.run(name)
}

/** As many as a project's own start command may have. */
const longestCommand = 500

/** Programs that run scripts of `package.json`, or read the variables that a package manager sets for a script. */
const scriptRunners = new Set(
  'npm npx pnpm pnpx yarn yarnpkg bunx corepack run-s run-p npm-run-all npm-run-all2 concurrently wireit lerna nx turbo'.split(
    ' ',
  ),
)

function callsScripts(words: string[], scripts: Map<string, string>): boolean {
  if (words.some((word) => scriptRunners.has(word) || /^(?:npm|yarn|pnpm|bun|node):/.test(word))) return true
  // A script's name comes before a file of the same name.
  return words[0] === 'bun' && scripts.has(words[words[1] === 'run' ? 2 : 1] ?? '')
}

/** The runtimes search `node_modules/.bin` of the app's own folder; a workspace keeps its tools further up. */
const isInPath = (program: string, { resolution }: JavascriptTools) =>
  runtimes.has(program) ? resolution !== 'loader' : resolution === 'own-folder' && /^[\w@.-]+$/.test(program)
const runtimes = new Set(['node', 'bun', 'deno'])

const managersVariable = /\bnpm_(?:package|config|lifecycle|execpath|node|command)/
const scriptSetting = /^\s*(?:node-options|script-shell|scripts-prepend-node-path|shell-emulator)\s*=/m

/** Settings of the scripts' environment, or a first file that reads what only a package manager sets. */
async function needsManager({ folder }: App, words: string[]): Promise<boolean> {
  for (const place of folder.upwards) if (scriptSetting.test((await place.text('.npmrc')) ?? '')) return true
  const files = words.slice(1).map((word) => word.replace(/^\.\//, ''))
  for (const file of files.flatMap((name) => [name, `${name}.js`]).filter((name) => folder.has(name)))
    if (managersVariable.test((await folder.text(file)) ?? '')) return true
  return false
}
