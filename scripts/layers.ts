// The layer table: what each room of packages/server/src may import. `node scripts/layers.ts` writes it into biome.json as
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

/** Rooms from the top down. Each may import the rooms that it names; what is not named is refused. */
const rooms: { room: string; may: string[]; why: string }[] = [
  { room: 'http', may: ['platform'], why: 'HTTP gets what it needs of the modules from the composition in instance/' },
  { room: 'drivers', may: ['source', 'edge-proxy/protocol', 'platform'], why: 'Drivers know no module, no database, no HTTP' },
  { room: 'edge-proxy', may: ['platform'], why: 'The edge proxy is a program of its own' },
  { room: 'source', may: ['platform'], why: 'What a folder says depends on the folder alone' },
  { room: 'platform', may: [], why: 'The platform is below everything' },
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
  { name: 'octokit', in: ['drivers/git-host/**'], why: 'GitHub is spoken to by drivers/git-host only' },
  { name: 'dockerode', in: ['drivers/runtime/**'], why: 'Docker is spoken to by drivers/runtime only' },
  { name: 'ssh2', in: ['drivers/shell/**'], why: 'SSH is spoken by drivers/shell only' },
]

const below = (name: string) => `**/${name}/**`
/** Ways out of a folder, for the deepest folders that a room has. Biome matches the text of an import, not the file that it names. */
const up = ['..', '../..', '../../..', '../../../..']
const outside = (path: string) => up.map((way) => `${way}/${path}`)
const entrance = outside('main.ts')
const refuse = (group: string[], message: string) => ({ group, message })
const isHome = (location: string, home: (typeof homes)[number]) => home.in.includes(location)

/** Builds one override of Biome: the folder, the rooms that it may not import, and the packages that have another home. */
function override(location: string, patterns: ReturnType<typeof refuse>[]) {
  const paths = Object.fromEntries(homes.filter((home) => !isHome(location, home)).map(({ name, why }) => [name, why]))
  const options = { paths, ...(patterns.length > 0 ? { patterns } : {}) }
  return {
    includes: [`packages/server/src/${location}`, '!**/*.test.ts'],
    linter: { rules: { style: { noRestrictedImports: { level: 'error', options } } } },
  }
}

function roomRules({ room, may, why }: (typeof rooms)[number]) {
  const refused = top.filter((other) => other !== room && !may.includes(other))
  const group = refused.flatMap((other) => {
    const part = may.find((name) => name.startsWith(`${other}/`))
    return other === 'main.ts' ? entrance : [below(other), ...(part ? [`!${below(part)}`] : [])]
  })
  const state =
    room === 'drivers' || room === 'source' || room === 'edge-proxy' ? stateful.map((name) => below(`platform/${name}`)) : []
  const web = room === 'platform' || room === 'drivers' || room === 'source' ? ['fastify'] : []
  const database = room === 'drivers' ? ['kysely'] : []
  return [refuse([...group, ...state, ...web, ...database], why)]
}

function moduleRules(name: string) {
  const lower = name === listener ? modules : modules.slice(0, modules.indexOf(name))
  const higher = modules.filter((other) => other !== name && !lower.includes(other))
  const rules = [refuse([below('instance'), ...entrance], 'Nothing imports upwards')]
  const proxy = [below('edge-proxy'), `!${below('edge-proxy/protocol')}`]
  rules.push(refuse(proxy, 'The edge proxy is a program of its own; edge-proxy/protocol is what both sides speak'))
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
        'Modules meet through index.ts only',
      ),
    )
  return rules
}

export function importRules() {
  // A later override replaces an earlier one, so a home inside another comes after it.
  const paths = [...new Set(homes.flatMap((home) => home.in))].sort((one, other) => one.length - other.length)
  const roomOf = (location: string) => rooms.find(({ room }) => location.startsWith(`${room}/`)) as (typeof rooms)[number]
  return [
    override('**', []),
    ...rooms.map((one) => override(`${one.room}/**`, roomRules(one))),
    ...paths.map((location) => override(location, roomRules(roomOf(location)))),
    ...[...modules, listener].map((name) => override(`modules/${name}/**`, moduleRules(name))),
  ]
}

const file = join(fileURLToPath(new URL('..', import.meta.url)), 'biome.json')
const isOurs = ({ includes }: { includes: string[] }) => includes[0]?.startsWith('packages/server/src/')

/** biome.json as it is, with the rules of this table in the place of those that stand there. */
export function withImportRules<Config extends { overrides: { includes: string[] }[] }>(config: Config) {
  return { ...config, overrides: [...config.overrides.filter((one) => !isOurs(one)), ...importRules()] }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(file, `${JSON.stringify(withImportRules(JSON.parse(readFileSync(file, 'utf8'))), null, 2)}\n`)
