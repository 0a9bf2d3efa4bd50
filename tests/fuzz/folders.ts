import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { detectFolder } from '../../packages/server/src/source/detection/index.ts'
import type { Random } from './random.ts'
import { type Fuzzed, fuzzByHand } from './runner.ts'
import { hostileText } from './texts.ts'

/** Fragments of files of each kind, which are combined at random. */
const kindsOfFile: Record<string, { names: string[]; pieces: string[] }> = {
  json: {
    names: [
      'package.json',
      'composer.json',
      'deno.json',
      'lerna.json',
      'nx.json',
      'angular.json',
      'global.json',
      'apps/a/package.json',
      'apps/a/project.json',
    ],
    pieces: [
      '{',
      '}',
      '[',
      ']',
      '"',
      ':',
      ',',
      '"name":',
      '"scripts":{',
      '"start":',
      '"build":',
      '"node x.js"',
      '"dependencies":{',
      '"next":',
      '"vite":',
      '"express":',
      '"1"',
      '"workspaces":',
      '"**/*"',
      '"apps/*"',
      'null',
      '1e9',
      '//',
      '/*',
      '\\u0000',
      '"main":',
      '"engines":',
      '"packageManager":',
      '"pnpm@9"',
    ],
  },
  toml: {
    names: ['pyproject.toml', 'Cargo.toml', 'Pipfile', 'rust-toolchain.toml'],
    pieces: [
      '[',
      ']',
      '[[',
      ']]',
      '=',
      '.',
      '"',
      "'",
      '"""',
      "'''",
      '{',
      '}',
      ',',
      '\n',
      '#',
      'project',
      'dependencies',
      'package',
      'name',
      'a',
      '1',
      '1e5',
      '2020-01-01',
      'true',
      'workspace',
      'members',
      '\\',
      'bin',
    ],
  },
  xml: {
    names: ['pom.xml', 'app.csproj'],
    pieces: [
      '<',
      '>',
      '</',
      '/>',
      '<project>',
      '</project>',
      '<Project Sdk="Microsoft.NET.Sdk.Web">',
      '<dependency>',
      '</dependency>',
      'a',
      ' ',
      '=',
      '"',
      "'",
      '<!--',
      '-->',
      '<![CDATA[',
      ']]>',
      '<?',
      '?>',
      '&lt;',
      '${',
      'project.version',
      '}',
      '<version>',
      '</version>',
      '<properties>',
      '</properties>',
    ],
  },
  lines: {
    names: [
      'requirements.txt',
      'a.txt',
      'go.mod',
      'Gemfile',
      'mix.exs',
      'Procfile',
      '.tool-versions',
      '.nvmrc',
      'build.gradle',
      'settings.gradle',
      'pnpm-workspace.yaml',
      'next.config.js',
      'vite.config.ts',
      'index.js',
      'server.ts',
      'main.py',
      'app/settings.py',
      'manage.py',
      '.env',
      'runtime.txt',
      'system.properties',
      'main.go',
    ],
    pieces: [
      '-r a.txt\n',
      '-r requirements.txt\n',
      'django',
      'flask==1',
      '[',
      ']',
      '\n',
      ' ',
      '\t',
      'require ',
      'a.b/c v1\n',
      'module ',
      'gem ',
      '"',
      "'",
      '`',
      ':',
      ',',
      '(',
      ')',
      'web: ',
      'packages:\n',
      '- ',
      '**',
      '*',
      '/',
      '//',
      '/*',
      '*/',
      '#',
      'PORT',
      '||',
      '??',
      '3000',
      '.listen(',
      'process.env.',
      'output:',
      '{',
      '}',
      '{:',
      'id ',
      'version ',
      '=',
      '\\',
      'app = FastAPI(',
      'STATIC_ROOT',
      'package main\n',
      'node',
      'ruby ',
    ],
  },
  docker: {
    names: ['Dockerfile', '.dockerignore'],
    pieces: ['FROM a AS b\n', 'ENV A=1\n', 'EXPOSE $A\n', 'CMD x\n', '\\\n', '<<E', '\n', '${', '}'],
  },
  compose: {
    names: ['compose.yaml', 'docker-compose.yml'],
    pieces: [
      'services:\n',
      '  a: { image: x }\n',
      '  b: { build: ., env_file: .env }\n',
      '&a',
      '*a',
      '<<: ',
      '{',
      '}',
      '[',
      ']',
      '\n',
      '${A:-',
      '}',
    ],
  },
}

interface Folder {
  files: Record<string, string>
  /** Symlinks: name → target. */
  links: Record<string, string>
  rootDirectory?: string
}

const secret = 'canary-4711'

function make(random: Random): Folder {
  const files: Record<string, string> = {}
  for (let left = 1 + random.below(5); left > 0; left -= 1) {
    const { names, pieces } = random.pick(Object.values(kindsOfFile))
    files[random.pick(names)] = hostileText(random, pieces)
  }
  const all = Object.values(kindsOfFile).flatMap(({ names }) => names)
  const targets = ['../outside/secret', '/dev/zero', '/proc/self/environ', '/dev/fd/0', '.', '..', 'package.json', 'gone']
  const links = Object.fromEntries(random.some(2, () => [random.pick(all), random.pick(targets)] as const))
  return { files, links, ...(random.chance(0.2) ? { rootDirectory: random.pick(['apps/a', '.', 'apps', 'x/../apps']) } : {}) }
}

async function check({ files, links, rootDirectory }: Folder): Promise<void> {
  const base = await mkdtemp(join(tmpdir(), 'berth-fuzz-'))
  try {
    const root = join(base, 'folder')
    await mkdir(join(root, 'apps/a'), { recursive: true })
    await mkdir(join(base, 'outside'))
    await writeFile(join(base, 'outside/secret'), `{"name":"${secret}"}\n`)
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, name)), { recursive: true })
      await writeFile(join(root, name), text)
    }
    for (const [name, target] of Object.entries(links)) await symlink(target, join(root, name)).catch(() => undefined)
    const detection = await detectFolder(root, { variables: { A: 'a' }, ...(rootDirectory ? { rootDirectory } : {}) })
    const output = JSON.stringify(detection)
    if (output.includes(secret) || output.includes('PATH=')) throw new Error('something outside was read')
    if (output.length > 4 * 1024 ** 2) throw new Error(`the answer has ${output.length} characters`)
  } catch (error) {
    if ((error as Error).name !== 'RootDirectoryError') throw error
  } finally {
    await rm(base, { recursive: true, force: true })
  }
}

export const kinds: Fuzzed[] = [{ name: 'folder', make, check, slowMs: 1_500 }] as Fuzzed[]

if (import.meta.main) await fuzzByHand('folders', kinds)
