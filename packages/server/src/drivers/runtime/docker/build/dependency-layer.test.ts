import { describe, expect, test } from 'vitest'
import { dependencyFiles } from './dependency-layer.ts'

const choose = (installCommand: string | null, files: Record<string, string>, rootDirectory = '') =>
  dependencyFiles({ installCommand, rootDirectory }, { paths: Object.keys(files), read: async (path) => files[path] ?? '' })

describe('dependencies are installed again only if a manifest or lockfile changes', () => {
  test.each<[string, Record<string, string>, string[]]>([
    ['npm ci', { 'package.json': '{}', 'package-lock.json': '{}', 'src/a.js': '' }, ['package-lock.json', 'package.json']],
    [
      'pnpm install --frozen-lockfile',
      { 'package.json': '{}', 'pnpm-lock.yaml': '', 'packages/a/package.json': '{}', 'packages/a/a.ts': '' },
      ['package.json', 'packages/a/package.json', 'pnpm-lock.yaml'],
    ],
    ['bun install', { 'package.json': '{}', 'bun.lock': '' }, ['bun.lock', 'package.json']],
    ['pip install -r requirements.txt', { 'requirements.txt': 'flask', 'app.py': '' }, ['requirements.txt']],
    [
      'poetry install --only main --no-root',
      { 'pyproject.toml': '[tool.poetry]', 'poetry.lock': '' },
      ['poetry.lock', 'pyproject.toml'],
    ],
    ['go mod download', { 'go.mod': 'module x', 'go.sum': '', 'main.go': '' }, ['go.mod', 'go.sum']],
    ['bundle install', { Gemfile: "gem 'rack'", 'Gemfile.lock': '', 'app.rb': '' }, ['Gemfile', 'Gemfile.lock']],
    ['mix deps.get --only prod', { 'mix.exs': '', 'mix.lock': '', 'lib/a.ex': '' }, ['mix.exs', 'mix.lock']],
    ['dotnet restore App.csproj', { 'App.csproj': '<Project/>', 'Program.cs': '' }, ['App.csproj']],
    [
      "npm install -g pnpm@9 && pnpm install && pip install --no-cache-dir -r 'requirements.txt' -c constraints.txt",
      { 'package.json': '{}', 'requirements.txt': 'flask', 'constraints.txt': '', 'app.py': '' },
      ['constraints.txt', 'package.json', 'requirements.txt'],
    ],
    [
      'npm ci --omit=dev --loglevel error',
      { 'package.json': '{"main": "./index.js", "dependencies": {"a": "^1.0.0"}}', 'index.js': '' },
      ['package.json'],
    ],
    [
      'pdm sync --prod',
      { 'pyproject.toml': '[tool.pdm]\ndistribution = false\n', 'pdm.lock': '' },
      ['pdm.lock', 'pyproject.toml'],
    ],
    [
      'pip install -r requirements/web.txt',
      { 'requirements/web.txt': '-r base.txt\nflask', 'requirements/base.txt': 'gunicorn' },
      ['requirements/base.txt', 'requirements/web.txt'],
    ],
    ['deno install --frozen', { 'deno.json': '{}', 'deno.lock': '', 'main.ts': '' }, ['deno.json', 'deno.lock']],
  ])('%s', async (command, files, expected) => {
    expect(await choose(command, files)).toEqual(expected)
  })
})

describe('a command that reads other files has no dependency layer', () => {
  test.each<[string, string, Record<string, string>]>([
    ['a script after it', 'npm ci', { 'package.json': '{"scripts":{"postinstall": "node x.js"}}' }],
    ['a folder of the project as a package', 'npm ci', { 'package.json': '{"dependencies":{"a":"file:a"}}' }],
    ['the project itself', 'pip install -r requirements.txt', { 'requirements.txt': '-e .' }],
    ['a project that is built', 'uv sync --frozen', { 'pyproject.toml': '[build-system]\n' }],
    ['a module beside it', 'go mod download', { 'go.mod': 'replace a => ../a' }],
    ['scripts of composer', 'composer install', { 'composer.json': '{"scripts": {"post-autoload-dump": []}}' }],
    ["a command of the user's own", './install.sh', { 'package.json': '{}' }],
    ['a command after a semicolon', 'npm ci; node scripts/x.js', { 'package.json': '{}' }],
    ['an alternative', 'npm ci || ./y.sh', { 'package.json': '{}' }],
    ['a pipe', 'npm ci | tee log', { 'package.json': '{}' }],
    ['a command in the background', 'npm ci & ./y.sh', { 'package.json': '{}' }],
    ['a second line', 'npm ci\nnode x.js', { 'package.json': '{}' }],
    ['a substitution', 'npm ci --registry=$(cat registry)', { 'package.json': '{}' }],
    ['a redirection', 'npm ci </dev/null', { 'package.json': '{}' }],
    ['a command of the user after it', 'npm ci && ./y.sh', { 'package.json': '{}' }],
    ['another folder', 'npm ci --prefix web', { 'package.json': '{}', 'web/package.json': '{}' }],
    ['a folder as an operand', 'npm install ./lib', { 'package.json': '{}', 'lib/package.json': '{}' }],
    ['a folder as a version', 'npm ci', { 'package.json': '{"dependencies":{"a":"./lib"}}' }],
    ['the project as an operand', 'pip install -r requirements.txt -e .', { 'requirements.txt': 'flask' }],
    ['a folder of packages', 'pip install -r requirements.txt --find-links=wheels', { 'requirements.txt': 'flask' }],
    ['a list with another name', 'pip install -r deps.txt', { 'requirements.txt': 'flask', 'deps.txt': 'flask' }],
    ['a list in a list', 'pip install -r requirements.txt', { 'requirements.txt': '-r deps/base.txt', 'deps/base.txt': '' }],
    ['a file as a package', 'pip install -r requirements.txt', { 'requirements.txt': 'wheels/a-1.0.whl' }],
    ['the project, which poetry installs', 'poetry install', { 'pyproject.toml': '[tool.poetry]' }],
    ['the project, which pdm installs', 'pdm sync --prod', { 'pyproject.toml': '[project]\nname = "a"\n' }],
    ['vendored gems', 'bundle install', { Gemfile: '', 'vendor/cache/a.gem': '' }],
    ['no manifest', 'npm ci', { 'index.js': '' }],
  ])('%s', async (_name, command, files) => {
    expect(await choose(command, files)).toBeNull()
  })
})

test('files of a command are relative to the root directory', async () => {
  const files = { 'requirements.txt': 'flask', 'web/requirements.txt': 'flask' }
  expect(await choose('pip install -r ../requirements.txt', files, 'web')).toEqual(Object.keys(files))
  expect(await choose('pip install -r ../../requirements.txt', files, 'web')).toBeNull()
})
