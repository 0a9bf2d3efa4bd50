import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withImportRules } from './layers.ts'

const biome = fileURLToPath(new URL('../node_modules/.bin/biome', import.meta.url))
const config = JSON.parse(readFileSync(new URL('../biome.json', import.meta.url), 'utf8'))

/** Imports that the layer table forbids: the file in packages/server/src, and what it imports. */
const forbidden: [from: string, specifier: string][] = [
  // Past the index of a lower module, from each depth.
  ['modules/backups/deep-0.ts', '../projects/store.ts'],
  ['modules/backups/runs/deep-1.ts', '../../projects/store.ts'],
  ['modules/backups/runs/inner/deep-2.ts', '../../../projects/store.ts'],
  ['modules/backups/runs/deep-folder.ts', '../../projects/lifecycle/create.ts'],
  ['modules/transfers/coordinator/deep-cloud.ts', '../../cloud/links.ts'],
  ['modules/notifications/channels/kinds/deep-kinds.ts', '../../../access/store.ts'],
  ['modules/notifications/deep-listener.ts', '../cloud/store.ts'],
  // Up, from each depth.
  ['modules/access/up-0.ts', '../projects/index.ts'],
  ['modules/cloud/up-transfers.ts', '../transfers/index.ts'],
  ['modules/projects/domains/up-1.ts', '../../deployments/index.ts'],
  ['modules/projects/domains/inner/up-2.ts', '../../../deployments/index.ts'],
  ['modules/projects/listener-0.ts', '../notifications/index.ts'],
  ['modules/projects/domains/listener-1.ts', '../../notifications/index.ts'],
  ['modules/projects/domains/inner/listener-2.ts', '../../../notifications/index.ts'],
  ['modules/projects/domains/composition.ts', '../../../instance/compose.ts'],
  ['modules/projects/entrance.ts', '../../main.ts'],
  ['modules/projects/domains/entrance-1.ts', '../../../main.ts'],
  ['http/entrance.ts', '../main.ts'],
  ['platform/db/entrance.ts', '../../main.ts'],
  // By a detour.
  ['modules/backups/detour.ts', '../../modules/projects/store.ts'],
  ['modules/backups/runs/detour-1.ts', '../../../modules/projects/index.ts'],
  // Between layers.
  ['modules/routing/edge.ts', '../../edge-proxy/server.ts'],
  ['http/module.ts', '../modules/access/index.ts'],
  ['http/driver.ts', '../drivers/git/git.ts'],
  ['drivers/git/module.ts', '../../modules/access/index.ts'],
  ['drivers/runtime/docker/build/module.ts', '../../../../modules/access/index.ts'],
  ['drivers/runtime/docker/build/database.ts', '../../../../platform/db/database.ts'],
  ['drivers/edge/proxy.ts', '../../edge-proxy/server.ts'],
  ['drivers/git/query.ts', 'kysely'],
  ['edge-proxy/static/driver.ts', '../../drivers/git/git.ts'],
  ['edge-proxy/jobs.ts', '../platform/jobs/queue.ts'],
  ['edge-proxy/worker.ts', '../platform/job-runner/worker.ts'],
  ['edge-proxy/edge-fixture.ts', '../drivers/edge/embedded-edge.ts'],
  ['source/compose/driver.ts', '../../drivers/git/git.ts'],
  ['source/detection/stacks/http.ts', '../../../http/handler.ts'],
  ['platform/db/http.ts', '../../http/handler.ts'],
  ['platform/jobs/source.ts', '../../source/compose/read.ts'],
  ['platform/web.ts', 'fastify'],
  // Packages that are imported outside their folder.
  ['modules/servers/shell.ts', 'node:child_process'],
  ['instance/shell.ts', 'node:child_process'],
  ['drivers/git/shell.ts', 'node:child_process'],
  ['drivers/runtime/docker/shell.ts', 'node:child_process'],
  ['modules/git-host/octokit.ts', 'octokit'],
  ['drivers/shell/docker.ts', 'dockerode'],
  ['drivers/runtime/server/ssh.ts', 'ssh2'],
]

/** Imports that the layer table allows. */
const allowed: [from: string, specifier: string][] = [
  ['modules/backups/index-0.ts', '../projects/index.ts'],
  ['modules/backups/runs/index-1.ts', '../../projects/index.ts'],
  ['modules/notifications/channels/kinds/index-2.ts', '../../../access/index.ts'],
  ['modules/transfers/coordinator/index-cloud.ts', '../../cloud/index.ts'],
  ['modules/notifications/index-cloud.ts', '../cloud/index.ts'],
  ['modules/backups/runs/own.ts', '../content/read.ts'],
  ['modules/cloud/own-transfers.ts', './transfers/store.ts'],
  ['modules/routing/protocol.ts', '../../edge-proxy/protocol/routes.ts'],
  ['modules/backups/runs/http.ts', '../../../http/handler.ts'],
  ['drivers/edge/protocol.ts', '../../edge-proxy/protocol/routes.ts'],
  ['drivers/runtime/docker/source.ts', '../../../source/compose/read.ts'],
  ['drivers/shell/spawn.ts', 'node:child_process'],
  ['drivers/runtime/process/spawn.ts', 'node:child_process'],
  ['drivers/git-host/github/octokit.ts', 'octokit'],
  ['drivers/runtime/docker/engine.ts', 'dockerode'],
  ['drivers/shell/ssh/connect.ts', 'ssh2'],
  ['instance/compose.ts', '../modules/backups/index.ts'],
  // Tests may import other layers.
  ['modules/backups/some.test.ts', '../projects/store.ts'],
]

/** Other ways to write an import; each must be refused like the plain one. */
const forms: Record<string, (specifier: string) => string> = {
  'import of a value': (from) => `import { thing } from '${from}'\nthing()\n`,
  'import of a type': (from) => `import type { Thing } from '${from}'\nexport type Other = Thing\n`,
  'import for its effects': (from) => `import '${from}'\n`,
  'export from': (from) => `export { thing } from '${from}'\n`,
  'dynamic import': (from) => `export const load = () => import('${from}')\n`,
}

let folder: string
let refused: Set<string>

const pathOf = (file: string) => `packages/server/src/${file}`
const fileOfForm = (name: string) => `modules/backups/form-${name.replaceAll(' ', '-')}.ts`

/** Lints a tree of one-import files with the committed biome.json in one run. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-layers-'))
  const write = (file: string, text: string) => {
    const path = join(folder, pathOf(file))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  for (const [file, specifier] of [...forbidden, ...allowed]) write(file, forms['import of a value']!(specifier))
  for (const [name, form] of Object.entries(forms)) write(fileOfForm(name), form('../projects/store.ts'))
  writeFileSync(join(folder, 'biome.json'), JSON.stringify({ ...config, $schema: undefined, vcs: { enabled: false } }))
  const args = ['lint', '--only=style/noRestrictedImports', '--reporter=json', '--max-diagnostics=none', '.']
  const { stdout } = await promisify(execFile)(biome, args, { cwd: folder }).catch((error) => error)
  const { diagnostics } = JSON.parse(stdout)
  refused = new Set(diagnostics.map(({ location }: { location: { path: string } }) => location.path))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each(forbidden)('%s may not import %s', (file) => {
  expect(refused).toContain(pathOf(file))
})

test.each(allowed)('%s may import %s', (file) => {
  expect(refused).not.toContain(pathOf(file))
})

describe('a forbidden import is refused in every syntax', () => {
  test.each(Object.keys(forms))('%s', (name) => {
    expect(refused).toContain(pathOf(fileOfForm(name)))
  })
})

test('biome.json holds the rules of the layer table (npm run layers writes them)', () => {
  expect(withImportRules(config)).toEqual(config)
})
