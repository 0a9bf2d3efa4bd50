import { parseCommandLine } from '../../platform/command-line.ts'

/** A script of `package.json` and its command line. */
export interface PackageScript {
  /** The last script of the chain. */
  name: string
  line: string
}

const managers = new Set(['npm', 'yarn', 'pnpm', 'bun'])
const maxHops = 5

/** Follows scripts that only call another script (`"start": "npm run serve"`) and returns the last one. */
export function finalScript(scripts: ReadonlyMap<string, string>, name: string): PackageScript {
  let current = { name, line: scripts.get(name) ?? '' }
  for (let hop = 0; hop < maxHops; hop++) {
    const called = calledScript(current.line, scripts)
    if (called === null || hasHooks(scripts, called)) return current
    current = { name: called, line: scripts.get(called)! }
  }
  return current
}

export const hasHooks = (scripts: ReadonlyMap<string, string>, name: string) =>
  scripts.has(`pre${name}`) || scripts.has(`post${name}`)

/** The called script if the whole line is a call without arguments: `npm run x`, `yarn x`, `pnpm x`. */
function calledScript(line: string, scripts: ReadonlyMap<string, string>): string | null {
  const words = parseCommandLine(line)
  if (!Array.isArray(words) || !managers.has(words[0] ?? '')) return null
  const rest = words.slice(words[1] === 'run' || words[1] === 'run-script' ? 2 : 1)
  const [name] = rest
  const isCall = rest.length === 1 && (words[0] !== 'npm' || words[1] !== name || name === 'start')
  return isCall && name !== undefined && scripts.has(name) ? name : null
}
