import { parseCommandLine } from '../../platform/command-line.ts'
import type { JavascriptTools } from './javascript-tools.ts'
import { finalScript, hasHooks } from './package-scripts.ts'
import type { App } from './stack.ts'

/**
 * The command that runs a script of `package.json`. A script that is one program is run directly, because a package manager and a
 * shell cost memory, do not forward signals properly and overwrite variables. Any other script is run by the package manager.
 */
export async function scriptCommand(app: App, tools: JavascriptTools, name: string): Promise<string> {
  const { scripts } = app.manifests.npm!
  const command = finalScript(scripts, name).line.trim()
  const words = parseCommandLine(command)
  const isDirect =
    Array.isArray(words) &&
    command.length <= maxCommandLength &&
    !hasHooks(scripts, name) &&
    !callsScripts(words, scripts) &&
    isInPath(words[0] ?? '', tools) &&
    !(await needsManager(app, words))
  return isDirect ? command : tools.run(name)
}

/** The limit of a project's start command. */
const maxCommandLength = 500

/** Programs that run scripts of `package.json`, or read the variables that a package manager sets. */
const scriptRunners = new Set(
  'npm npx pnpm pnpx yarn yarnpkg bunx corepack run-s run-p npm-run-all npm-run-all2 concurrently wireit lerna nx turbo'.split(
    ' ',
  ),
)

function callsScripts(words: string[], scripts: Map<string, string>): boolean {
  if (words.some((word) => scriptRunners.has(word) || /^(?:npm|yarn|pnpm|bun|node):/.test(word))) return true
  // Bun prefers a script to a file of the same name.
  return words[0] === 'bun' && scripts.has(words[words[1] === 'run' ? 2 : 1] ?? '')
}

/**
 * Whether the program is found without the package manager: a started app has its own `node_modules/.bin` in PATH, and the tools of
 * a workspace are in a parent folder.
 */
const isInPath = (program: string, { resolution }: JavascriptTools) =>
  interpreters.has(program) ? resolution !== 'loader' : resolution === 'own-folder' && /^[\w@.-]+$/.test(program)
const interpreters = new Set(['node', 'bun', 'deno'])

const managersVariable = /\bnpm_(?:package|config|lifecycle|execpath|node|command)/
const scriptSetting = /^\s*(?:node-options|script-shell|scripts-prepend-node-path|shell-emulator)\s*=/m

/**
 * Whether the script needs its package manager: npm settings of the script environment, or an entry file that reads variables only
 * a package manager sets.
 */
async function needsManager({ folder }: App, words: string[]): Promise<boolean> {
  for (const location of folder.upwards) if (scriptSetting.test((await location.text('.npmrc')) ?? '')) return true
  const files = words.slice(1).map((word) => word.replace(/^\.\//, ''))
  for (const file of files.flatMap((name) => [name, `${name}.js`]).filter((name) => folder.has(name)))
    if (managersVariable.test((await folder.text(file)) ?? '')) return true
  return false
}
