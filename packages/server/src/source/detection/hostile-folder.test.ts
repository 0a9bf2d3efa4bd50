import { once } from 'node:events'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { detectFolder } from './detect-folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

const secret = 'canary-4711'
const manifest = { name: secret, scripts: { start: `node ${secret}.js` }, dependencies: { express: '4' } }

describe('an inactive service does not hide a refusal of an active one', () => {
  const refusedIn = async (services: string) => {
    const folder = await temporaryFolder({ 'compose.yaml': `services:\n${services}` })
    return (await detectFolder(folder)).refused?.join('\n') ?? ''
  }
  const off = '  a: { image: a, profiles: [off], privileged: true }\n'

  test('with a name that is a prefix of the other', async () => {
    expect(await refusedIn(`${off}  web: { image: b }\n`)).toBe('')
    expect(await refusedIn(`${off}  a.b: { image: b, privileged: true }\n`)).toContain('services.a.b.privileged')
  })

  test('with many fields', async () => {
    const many = Array.from({ length: 600 }, (_, index) => `    field${index}: 1\n`).join('')
    const refused = await refusedIn(`  a:\n    image: a\n    profiles: [off]\n${many}  web: { image: b, privileged: true }\n`)
    expect(refused).toContain('more than 500')
  })
})

describe('files outside the folder', () => {
  test('a symlink to a file outside is not followed, and reported', async () => {
    const outside = await temporaryFolder({ 'package.json': manifest })
    const folder = await temporaryFolder({ 'index.html': '' })
    await symlink(join(outside, 'package.json'), join(folder, 'package.json'))
    const detection = await detectFolder(folder)
    expect(detection.framework).toBe('static')
    expect(detection.warnings).toEqual(['package.json is a link that leads out of the folder; it is not followed'])
    expect(JSON.stringify(detection)).not.toContain(secret)
  })

  test('a symlink to a folder is not followed', async () => {
    const outside = await temporaryFolder({ 'web/package.json': manifest })
    const folder = await temporaryFolder({
      'package.json': { workspaces: ['apps/*', '../*', 'apps/../../*'] },
      'real/package.json': manifest,
    })
    await mkdir(join(folder, 'apps'))
    await symlink(join(outside, 'web'), join(folder, 'apps/web'))
    await symlink('../real', join(folder, 'apps/inner'))
    await symlink('.', join(folder, 'apps/loop'))
    expect((await detectFolder(folder)).apps).toEqual([])
  })

  test('a symlink to a file of the project is followed', async () => {
    const folder = await temporaryFolder({ 'config/package.json': { name: 'inner', dependencies: { next: '15' } } })
    await symlink('config/package.json', join(folder, 'package.json'))
    expect(await detectFolder(folder)).toMatchObject({ name: 'inner', framework: 'nextjs' })
  })

  test('dangling and circular symlinks are ignored', async () => {
    const folder = await temporaryFolder({ 'index.html': '' })
    await symlink('gone', join(folder, 'package.json'))
    await symlink('Gemfile', join(folder, 'Gemfile'))
    await symlink('b', join(folder, 'a'))
    await symlink('a', join(folder, 'b'))
    expect(await detectFolder(folder)).toMatchObject({ framework: 'static', warnings: [] })
  })

  test('paths in files cannot leave the project', async () => {
    const outside = await temporaryFolder({ 'secret.txt': `${secret}==1\n` })
    const folder = await temporaryFolder({
      'requirements.txt': `-r ../${outside.split('/').at(-1)}/secret.txt\n-r /etc/passwd\n-r ${outside}/secret.txt\nflask\n`,
      'package.json': { main: `../${outside.split('/').at(-1)}/secret.txt`, scripts: { build: 'x' } },
      'app.py': 'app = Flask(__name__)\n',
    })
    expect(JSON.stringify(await detectFolder(folder))).not.toContain(secret)
  })

  test('an output directory outside the project is ignored', async () => {
    for (const outDir of ['../../etc', '/etc', '..', 'a/../../b', 'a\\\\b']) {
      const folder = await temporaryFolder({
        'package.json': { devDependencies: { vite: '6' } },
        'index.html': '',
        'vite.config.js': `export default { build: { outDir: '${outDir}' } }`,
      })
      const { outputDirectory, warnings } = await detectFolder(folder)
      expect([outputDirectory, warnings.at(-1)]).toEqual([null, 'the output directory leads out of the folder; it is ignored'])
    }
  })
})

describe('an invalid file is a warning with its name', () => {
  test.each([
    ['package.json', '{ "name": ', 'valid JSON'],
    ['package.json', '\u0000\u0001', 'valid JSON'],
    ['package.json', `{"a":${'['.repeat(100_000)}`, 'valid JSON'],
    ['deno.json', '{ tasks }', 'valid JSON'],
    ['composer.json', 'nope', 'valid JSON'],
    ['global.json', '{', 'valid JSON'],
    ['pyproject.toml', '[project\nname=', 'valid TOML'],
    ['Pipfile', '= =', 'valid TOML'],
    ['Cargo.toml', '[[[', 'valid TOML'],
    ['rust-toolchain.toml', 'channel', 'valid TOML'],
    ['pom.xml', '<project><a></project>', 'a valid POM (XML with the root element project)'],
    ['pom.xml', 'not xml at all <', 'a valid POM (XML with the root element project)'],
    ['app.csproj', '<Project', 'a valid project file (XML with the root element Project)'],
    ['app.csproj', '<other/>', 'a valid project file (XML with the root element Project)'],
  ])('%s with %j', async (name, text, expected) => {
    const { warnings } = await detectFolder(await temporaryFolder({ [name]: text, 'index.html': '' }))
    expect(warnings).toContain(`${name} is not ${expected}; it is ignored`)
  })

  test('a file over 1 MiB is ignored', async () => {
    const folder = await temporaryFolder({
      'package.json': JSON.stringify({ name: 'x', pad: 'x'.repeat(1024 ** 2) }),
      'index.html': '',
    })
    expect(await detectFolder(folder)).toMatchObject({
      framework: 'static',
      warnings: ['package.json is larger than 1 MiB; it is ignored'],
    })
  })

  test('a socket with the name of a manifest is not opened', async () => {
    const folder = await temporaryFolder({ 'index.html': '' })
    const server = createServer().listen(join(folder, 'package.json'))
    await once(server, 'listening')
    const detection = await detectFolder(folder)
    server.close()
    expect(detection).toMatchObject({ framework: 'static', warnings: [] })
  })

  test('JSON may have a byte order mark and comments', async () => {
    const folder = await temporaryFolder({
      'package.json': '\uFEFF{ // the app\n "dependencies": { "next": "15", }, /* end */ }',
    })
    expect(await detectFolder(folder)).toMatchObject({ framework: 'nextjs' })
  })

  test('an invalid Compose file is refused with a message', async () => {
    const detect = async (text: string) => detectFolder(await temporaryFolder({ 'compose.yaml': text }))
    expect(await detect('services: [')).toMatchObject({
      framework: 'compose',
      type: 'services',
      services: [],
      warnings: [expect.stringMatching(/^refused: compose.yaml: the file is not valid YAML/)],
    })
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nservices: {}`
    expect((await detect(bomb)).warnings[0]).toMatch(/^refused: compose.yaml: the file cannot be read/)
  })

  test('a bind mount that leaves the project through a symlink is refused', async () => {
    const folder = await temporaryFolder({ 'compose.yaml': 'services: { a: { image: x, volumes: ["./data:/data"] } }' })
    await symlink('/etc', join(folder, 'data'))
    expect((await detectFolder(folder)).warnings).toContain(
      'refused: compose.yaml, line 1: services.a.volumes: "data" is a link that leads outside the project',
    )
  })
})

describe('values of files are quoted and limited', () => {
  test('names are quoted in commands and truncated', async () => {
    const folder = await temporaryFolder({
      'go.mod': `module x/${'n'.repeat(300)}\n`,
      'cmd/a b; $(touch x)/main.go': 'package main\n',
    })
    const detection = await detectFolder(folder)
    expect(detection.buildCommand).toBe("go build -o bin/app './cmd/a b; $(touch x)'")
    expect(detection.name).toHaveLength(100)
    const quote = await temporaryFolder({ "it's.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web"></Project>' })
    expect((await detectFolder(quote)).installCommand).toBe(`dotnet restore 'it'\\''s.csproj'`)
  })

  test('a command over 500 characters is dropped', async () => {
    const folder = await temporaryFolder({ 'requirements.txt': '', 'main.py': '', Procfile: `web: python ${'x'.repeat(600)}\n` })
    const { startCommand, warnings } = await detectFolder(folder)
    expect([startCommand, warnings.at(-1)]).toEqual([
      null,
      'the start command is longer than 500 characters or contains control characters; it is ignored',
    ])
  })

  test('prototype names are ordinary names', async () => {
    const folder = await temporaryFolder({
      'package.json':
        '{ "name": "x", "__proto__": { "scripts": { "start": "evil" } }, "scripts": { "__proto__": "x", "constructor": "y" }, "dependencies": { "__proto__": "1", "toString": "2" } }',
      'index.js': '',
    })
    expect(await detectFolder(folder)).toMatchObject({ framework: 'node', startCommand: 'node index.js' })
  })

  test('any JSON in any manifest is read without an exception', async () => {
    const keys = [
      'name',
      'scripts',
      'dependencies',
      'devDependencies',
      'engines',
      'workspaces',
      'packageManager',
      'main',
      'tasks',
      'imports',
      'require',
      'projects',
      'start',
      'build',
      'next',
      'vite',
      '__proto__',
    ]
    const value = fc.object({
      key: fc.constantFrom(...keys),
      maxDepth: 3,
      maxKeys: 6,
      values: [fc.string(), fc.integer(), fc.boolean(), fc.constant(null)],
    })
    const files = fc.dictionary(
      fc.constantFrom('package.json', 'deno.json', 'composer.json', 'angular.json', 'lerna.json', 'nx.json', 'global.json'),
      value,
      { minKeys: 1, maxKeys: 3 },
    )
    await fc.assert(
      fc.asyncProperty(files, async (contents) => {
        const folder = await temporaryFolder(contents)
        await writeFile(join(folder, 'index.js'), '')
        expect((await detectFolder(folder)).type).toBeTypeOf('string')
      }),
      { numRuns: 60 },
    )
  })
})

describe('very large folders', () => {
  test('a limited number of files is read, those near the root first', async () => {
    const files = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`a/b/c/${index}.txt`, '']))
    const folder = await temporaryFolder({ ...files, 'z/package.json': '{}', 'package.json': { dependencies: { next: '15' } } })
    const detection = await detectFolder(folder, { maxFiles: 50 })
    expect(detection).toMatchObject({ framework: 'nextjs' })
    expect(detection.warnings).toContain('only the first 50 files were checked')
    expect((await detectFolder(folder, { maxFiles: 1000 })).warnings).not.toContain('only the first 1000 files were checked')
  })

  test('globs with many stars match in bounded time', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [
        `p/${index % 5}/${index % 3}/${index}/package.json`,
        { scripts: { start: 'node .' } },
      ]),
    )
    const folder = await temporaryFolder({
      'package.json': { workspaces: Array.from({ length: 40 }, () => '**/*/**/*/**/*/**') },
      ...files,
    })
    expect((await detectFolder(folder)).apps.length).toBeGreaterThan(0)
  })
})
