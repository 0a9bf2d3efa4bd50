import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { detectFolder } from './detect-folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

const image = 'FROM scratch\nEXPOSE 80\n'
const build = (value: string) => `services:\n  web:\n    build: ${value}\n    ports: ['80']\n`

test.each<[string, string, Record<string, string>, { context: string; dockerfile: string | null }]>([
  [
    'another name at the root',
    'production.yml',
    { 'production.yml': build('.'), 'compose.yaml': build('./other'), Dockerfile: image },
    { context: '.', dockerfile: null },
  ],
  [
    'a file in a folder that builds the folder beside it',
    'ops/compose.yaml',
    { 'ops/compose.yaml': build('../web'), 'web/Dockerfile': image },
    { context: 'web', dockerfile: null },
  ],
  [
    'a context above the file with a Dockerfile elsewhere',
    'ops/compose.yaml',
    { 'ops/compose.yaml': build('{ context: .., dockerfile: ops/web.Dockerfile }'), 'ops/web.Dockerfile': image },
    { context: '.', dockerfile: 'ops/web.Dockerfile' },
  ],
  [
    'a service of a file beside it',
    'ops/compose.yaml',
    {
      'ops/compose.yaml': 'services: { web: { extends: { file: base.yaml, service: web }, ports: ["80"] } }',
      'ops/base.yaml': build('../web'),
      'web/Dockerfile': image,
    },
    { context: 'web', dockerfile: null },
  ],
])('composePath: %s', async (_, composePath, files, expected) => {
  const folder = await temporaryFolder({ ...files, 'package.json': { scripts: { start: 'node .' } } })
  const { framework, services, refused } = await detectFolder(folder, { composePath, variables: {} })
  expect(refused).toBeUndefined()
  expect(framework).toBe('compose')
  expect(services).toMatchObject([{ name: 'web', build: expected }])
})

test('variables and env files of a Compose file in a folder come from that folder', async () => {
  const folder = await temporaryFolder({
    'ops/compose.yaml': 'services: { web: { image: "web:$TAG", env_file: web.env } }',
    'ops/.env': 'TAG=7\n',
    'ops/web.env': 'GREETING=hello\n',
    '.env': 'TAG=1\n',
  })
  const { services } = await detectFolder(folder, { composePath: 'ops/compose.yaml', variables: {} })
  expect(services).toMatchObject([{ image: 'web:7', environment: { GREETING: 'hello' } }])
})

test.each<[string, Record<string, string>, { composePath?: string; rootDirectory?: string }, RegExp]>([
  ['a path that does not exist', {}, { composePath: 'ops/compose.yaml' }, /composePath.*"ops\/compose.yaml".*does not exist/],
  ['a folder', { 'ops/a': '' }, { composePath: 'ops' }, /composePath.*"ops".*does not exist/],
  ['a path out of the project', {}, { composePath: '../compose.yaml' }, /composePath.*"..\/compose.yaml"/],
  [
    'a build outside the project',
    { 'compose.yaml': build('../..') },
    {},
    /compose.yaml.*services.web.build.*outside the project/,
  ],
  [
    'a build outside the project of a file in a folder',
    { 'ops/compose.yaml': build('../..') },
    { composePath: 'ops/compose.yaml' },
    /ops\/compose.yaml.*services.web.build.*outside the project/,
  ],
  ['a file that is not YAML', { 'compose.yaml': 'services: [' }, {}, /compose.yaml.*not valid YAML/],
  ['a file without services', { 'compose.yaml': 'volumes: {}' }, {}, /compose.yaml.*no services/],
  ['a file that is too large', { 'compose.yaml': `#${' '.repeat(2 * 1024 ** 2)}\n` }, {}, /compose.yaml.*cannot be read/],
  [
    'a Dockerfile that does not exist',
    { 'compose.yaml': build('./web') },
    {},
    /compose.yaml.*services.web.build.*web\/Dockerfile/,
  ],
  [
    'a Dockerfile that does not exist, in a file that is named',
    { 'ops/compose.yaml': build('../web') },
    { composePath: 'ops/compose.yaml' },
    /ops\/compose.yaml.*services.web.build.*web\/Dockerfile/,
  ],
])('an unusable Compose file is not replaced by a Dockerfile in the same folder: %s', async (_, files, options, reason) => {
  const folder = await temporaryFolder({ Dockerfile: image, ...files })
  const reasons = await detectFolder(folder, { ...options, variables: {} }).then(
    ({ framework, refused }) => [framework, ...(refused ?? [])].join(' '),
    (error: Error) => `compose ${error.message}`,
  )
  expect(reasons).toMatch(/^compose/)
  expect(reasons).toMatch(reason)
})

test('a composePath that is a symlink out of the project is refused', async () => {
  const folder = await temporaryFolder({ Dockerfile: image })
  const other = await temporaryFolder({ 'compose.yaml': build('.') })
  await symlink(join(other, 'compose.yaml'), join(folder, 'linked.yaml'))
  await expect(detectFolder(folder, { composePath: 'linked.yaml', variables: {} })).rejects.toThrow(/linked.yaml/)
})

test('a Compose file that builds nothing of the folder is named in a warning, and the Dockerfile is used', async () => {
  const folder = await temporaryFolder({ Dockerfile: image, 'compose.yaml': 'services: { db: { image: postgres } }' })
  const { framework, warnings } = await detectFolder(folder)
  expect(framework).toBe('dockerfile')
  expect(warnings.join(' ')).toMatch(/compose.yaml builds nothing of this folder \(it runs db\)/)
})

test('dockerfilePath overrides the Compose file and the framework, and its EXPOSE gives the port', async () => {
  const folder = await temporaryFolder({
    'ops/Dockerfile': 'FROM scratch\nEXPOSE 9000\n',
    Dockerfile: image,
    'compose.yaml': build('.'),
    'index.html': '',
  })
  expect(await detectFolder(folder, { dockerfilePath: 'ops/Dockerfile' })).toMatchObject({
    framework: 'dockerfile',
    port: 9000,
    type: 'app',
  })
})

test('a missing dockerfilePath is refused with its path', async () => {
  const folder = await temporaryFolder({ Dockerfile: image })
  await expect(detectFolder(folder, { dockerfilePath: 'ops/Dockerfile' })).rejects.toThrow(
    /dockerfilePath.*"ops\/Dockerfile".*does not exist/,
  )
})
