// The layer table: what each top folder of packages/server/src may import. `node scripts/layers.ts` writes it into biome.json as
// import rules; scripts/layers.test.ts lints forbidden imports and fails when Biome accepts one.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Modules from the lowest to the highest: a module imports the index of a lower one, never the other way round. */
const modules = [
  'access',
  'registries',
  'servers',
  'git-host',
  'projects',
  'routing',
  'deployments',
  'links',
  'tasks',
  'git-events',
  'backups',
  'catalogue',
  'migration',
  'cloud',
  'transfers',
]
/** The module that receives every event through announce(). No module imports it. */
const listener = 'notifications'

/** Layers from the top down, each with the folders that it may import. An import of any other top folder is refused. */
const layers: { layer: string; mayImport: string[]; why: string }[] = [
  { layer: 'http', mayImport: ['platform'], why: 'instance/ passes to HTTP what it needs of the modules' },
  {
    layer: 'drivers',
    mayImport: ['source', 'edge-proxy/protocol', 'platform'],
    why: 'Drivers import no module, no database and no HTTP',
  },
  { layer: 'edge-proxy', mayImport: ['platform'], why: 'The edge proxy is a program of its own' },
  { layer: 'source', mayImport: ['platform'], why: 'Detection depends on the contents of the folder alone' },
  { layer: 'platform', mayImport: [], why: 'The platform is below everything' },
]
const top = ['main.ts', 'instance', 'http', 'modules', 'drivers', 'edge-proxy', 'source', 'platform']
/** Parts of the platform that only modules, http and the composition use. */
const stateful = ['db', 'jobs', 'job-runner', 'log-store']

/** Packages that only one folder may import. */
const homes = [
  {
    name: 'node:child_process',
    in: ['drivers/shell/**', 'drivers/runtime/process/**', 'drivers/reader/**', 'edge-proxy/protocol/spawn-edge.ts'],
    why: 'Programs are started by drivers/shell, drivers/runtime/process, drivers/reader and the edge only',
  },
  { name: 'octokit', in: ['drivers/git-host/**'], why: 'Only drivers/git-host calls GitHub' },
  { name: 'dockerode', in: ['drivers/runtime/**'], why: 'Only drivers/runtime calls Docker' },
  { name: 'ssh2', in: ['drivers/shell/**'], why: 'Only drivers/shell uses SSH' },
]

const below = (name: string) => `**/${name}/**`
/** Prefixes of imports that leave a folder, up to the deepest folder of a layer. Biome matches the text of an import, not its file. */
const up = ['..', '../..', '../../..', '../../../..']
const outside = (path: string) => up.map((way) => `${way}/${path}`)
const entrance = outside('main.ts')
const refuse = (group: string[], message: string) => ({ group, message })
const isHome = (location: string, home: (typeof homes)[number]) => home.in.includes(location)

/** Builds one override of Biome: the folder, the imports that are refused there, and the packages that only other folders may import. */
function override(location: string, patterns: ReturnType<typeof refuse>[]) {
  const paths = Object.fromEntries(homes.filter((home) => !isHome(location, home)).map(({ name, why }) => [name, why]))
  const options = { paths, ...(patterns.length > 0 ? { patterns } : {}) }
  return {
    includes: [`packages/server/src/${location}`, '!**/*.test.ts'],
    linter: { rules: { style: { noRestrictedImports: { level: 'error', options } } } },
  }
}

function layerRules({ layer, mayImport, why }: (typeof layers)[number]) {
  const refused = top.filter((other) => other !== layer && !mayImport.includes(other))
  const group = refused.flatMap((other) => {
    const part = mayImport.find((name) => name.startsWith(`${other}/`))
    return other === 'main.ts' ? entrance : [below(other), ...(part ? [`!${below(part)}`] : [])]
  })
  const state =
    layer === 'drivers' || layer === 'source' || layer === 'edge-proxy' ? stateful.map((name) => below(`platform/${name}`)) : []
  const web = layer === 'platform' || layer === 'drivers' || layer === 'source' ? ['fastify'] : []
  const database = layer === 'drivers' ? ['kysely'] : []
  return [refuse([...group, ...state, ...web, ...database], why)]
}

function moduleRules(name: string) {
  const lower = name === listener ? modules : modules.slice(0, modules.indexOf(name))
  const higher = modules.filter((other) => other !== name && !lower.includes(other))
  const rules = [refuse([below('instance'), ...entrance], 'Nothing imports upwards')]
  const proxy = [below('edge-proxy'), `!${below('edge-proxy/protocol')}`]
  rules.push(refuse(proxy, 'The edge proxy is a program of its own: import only edge-proxy/protocol'))
  rules.push(refuse([below('modules')], 'A module is imported as ../<module>/index.ts, without a detour over modules/'))
  if (name !== listener)
    rules.push(refuse(outside(`${listener}/**`), 'notifications is never imported: announce() is declared in platform/jobs'))
  if (higher.length > 0)
    rules.push(
      refuse(
        higher.flatMap((other) => outside(`${other}/**`)),
        'Modules are imported downwards only',
      ),
    )
  if (lower.length > 0)
    rules.push(
      refuse(
        lower.flatMap((other) => [...outside(`${other}/**`), ...outside(`${other}/index.ts`).map((path) => `!${path}`)]),
        'Import another module through its index.ts only',
      ),
    )
  return rules
}

export function importRules() {
  // A later override replaces an earlier one, so a home inside another comes after it.
  const paths = [...new Set(homes.flatMap((home) => home.in))].sort((one, other) => one.length - other.length)
  const layerOf = (location: string) => layers.find(({ layer }) => location.startsWith(`${layer}/`)) as (typeof layers)[number]
  return [
    override('**', []),
    ...layers.map((one) => override(`${one.layer}/**`, layerRules(one))),
    ...paths.map((location) => override(location, layerRules(layerOf(location)))),
    ...[...modules, listener].map((name) => override(`modules/${name}/**`, moduleRules(name))),
  ]
}

const file = join(fileURLToPath(new URL('..', import.meta.url)), 'biome.json')
const isOurs = ({ includes }: { includes: string[] }) => includes[0]?.startsWith('packages/server/src/')

/** Returns the configuration with the rules of this table in place of its earlier ones. */
export function withImportRules<Config extends { overrides: { includes: string[] }[] }>(config: Config) {
  return { ...config, overrides: [...config.overrides.filter((one) => !isOurs(one)), ...importRules()] }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(file, `${JSON.stringify(withImportRules(JSON.parse(readFileSync(file, 'utf8'))), null, 2)}\n`)
