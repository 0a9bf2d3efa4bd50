import { hasRules, joinRules } from '../../site-rules/collect-rules.ts'
import { clip } from '../signs.ts'
import type { App, Plan } from '../stack.ts'
import { readBerth } from './berth.ts'
import { readFly } from './fly.ts'
import { readHeroku } from './heroku.ts'
import type { HintReader, Hints } from './hints.ts'
import { readNetlify } from './netlify.ts'
import { readNixpacks } from './nixpacks.ts'
import { readRailway } from './railway.ts'
import { readRender } from './render.ts'
import { readVercel } from './vercel.ts'

/** Readers by precedence: files that start programs come before files that publish pages. */
const readers: readonly HintReader[] = [
  readBerth,
  readRailway,
  readRender,
  readNixpacks,
  readFly,
  readHeroku,
  readVercel,
  readNetlify,
]

/** Applies the settings of files for other hosts, where users have already configured the build. */
export async function applyPlatformFiles({ folder }: App, plan: Plan, framework: string): Promise<Plan> {
  if (plan.type === 'services' || plan.apps?.length) return plan
  let result = plan
  const sites: NonNullable<Hints['site']>[] = []
  // The first reader takes precedence, so it is applied last.
  for (const read of readers.toReversed()) {
    const hints = await read(folder)
    if (!hints) continue
    result = applyHints(result, withoutStaticForPrograms(hints, framework), folder.full(hints.file))
    if (hints.site) sites.unshift(hints.site)
  }
  return withSite(result, sites)
}

/** Adds site rules. They apply only to static sites: a program handles its own redirects and headers. */
function withSite(plan: Plan, sites: readonly NonNullable<Hints['site']>[]): Plan {
  const siteRules = joinRules(...sites.map(({ rules }) => rules))
  const unsupported = sites.flatMap(({ warnings }) => warnings)
  if (!hasRules(siteRules) && unsupported.length === 0) return plan
  const siteWarnings =
    plan.type === 'static' ? unsupported : ['redirects and headers for another host are ignored: they apply only to static sites']
  return { ...plan, warnings: [...(plan.warnings ?? []), ...siteWarnings], ...(hasRules(siteRules) ? { siteRules } : {}) }
}

const installs =
  /\b(?:npm (?:ci|i|install)|yarn(?: install)?(?= *(?:$|&|;))|pnpm (?:i|install)|bun install|pip3? install|poetry install|uv sync|bundle install|composer install)\b/

/** Frameworks that render pages with a program by default. */
const renderers = new Set(
  'nextjs nuxt sveltekit qwik react-router remix astro angular tanstack-start solid-start analog nitro sapper'.split(' '),
)
const staticExport = /\b(?:next export|(?:nuxt|nuxi|run|yarn|pnpm) generate)\b/

/** Ignores `static` for such a framework: its published folder has assets, not pages. */
function withoutStaticForPrograms(hints: Hints, framework: string): Hints {
  if (!hints.appliesToPrograms || !renderers.has(framework) || staticExport.test(hints.buildCommand ?? '')) return hints
  return { ...hints, type: undefined }
}

function applyHints(plan: Plan, hints: Hints, file: string): Plan {
  const next = { ...plan, evidence: [...(plan.evidence ?? [])], warnings: [...(plan.warnings ?? []), ...(hints.warnings ?? [])] }
  const apply = (field: 'installCommand' | 'buildCommand' | 'startCommand' | 'outputDirectory', message: string) => {
    const value = hints[field]
    if (!value) return
    if (field !== 'outputDirectory' && !isWithinLimits(value)) {
      next.warnings.push(
        `${file}: the ${field.replace('Command', ' command')} is longer than 500 characters or contains control characters; it is ignored`,
      )
      return
    }
    next[field] = value
    next.evidence.push({ file, says: `${message} ${clip(value)}` })
  }
  apply('installCommand', 'install command:')
  apply('buildCommand', 'build command:')
  // A build that installs its dependencies needs no install before it.
  if (next.buildCommand === hints.buildCommand && !hints.installCommand && installs.test(hints.buildCommand ?? ''))
    next.installCommand = null
  const isStatic = hints.type === 'static' || isOnlyBuilt(plan, hints)
  if (isStatic || plan.type === 'static') apply('outputDirectory', 'the pages are in')
  if (isStatic && hints.outputDirectory && plan.type === 'app')
    Object.assign(next, { type: 'static', startCommand: null, port: null })
  if (hints.startCommand) becomeApp(next, plan)
  apply('startCommand', 'start command:')
  if (hints.port && next.type === 'app') next.port = hints.port
  if (hints.healthPath && next.type === 'app') next.healthPath = hints.healthPath
  if (next.startCommand || next.type === 'static')
    next.warnings = next.warnings.filter((warning) => !warning.startsWith('no start command was found'))
  return next
}

/** Whether the source is built into a folder and nothing starts a program: the folder holds pages. */
const isOnlyBuilt = (plan: Plan, { type, startCommand, outputDirectory }: Hints) =>
  type === undefined && Boolean(outputDirectory) && !startCommand && plan.type === 'app' && !plan.startCommand

/** Whether the command fits the limits of a project's command. */
const isWithinLimits = (command: string) => command.length <= 500 && !/[\0-\x1f]/.test(command)

/** Turns a static plan into an app: its start command runs a program that serves the pages. */
function becomeApp(next: Plan, plan: Plan): void {
  if (plan.type === 'static') Object.assign(next, { type: 'app', outputDirectory: null, port: plan.port ?? 3000 })
}
