import { describe, expect, test } from 'vitest'
import type { StackName } from './base-images.ts'
import { dependencyFiles } from './dependency-layer.ts'

const choose = (stack: StackName, installCommand: string | null, files: Record<string, string>) =>
  dependencyFiles(stack, { installCommand }, { paths: Object.keys(files), read: async (path) => files[path] ?? '' })

describe('dependencies are installed again only if a manifest or lockfile changes', () => {
  test.each<[StackName, string, Record<string, string>, string[]]>([
    [
      'node',
      'npm ci',
      { 'package.json': '{}', 'package-lock.json': '{}', 'src/a.js': '' },
      ['package-lock.json', 'package.json'],
    ],
    [
      'node',
      'pnpm install --frozen-lockfile',
      { 'package.json': '{}', 'pnpm-lock.yaml': '', 'packages/a/package.json': '{}', 'packages/a/a.ts': '' },
      ['package.json', 'packages/a/package.json', 'pnpm-lock.yaml'],
    ],
    ['bun', 'bun install', { 'package.json': '{}', 'bun.lock': '' }, ['bun.lock', 'package.json']],
    ['python', 'pip install -r requirements.txt', { 'requirements.txt': 'flask', 'app.py': '' }, ['requirements.txt']],
    [
      'python',
      'poetry install --only main --no-root',
      { 'pyproject.toml': '[tool.poetry]', 'poetry.lock': '' },
      ['poetry.lock', 'pyproject.toml'],
    ],
    ['go', 'go mod download', { 'go.mod': 'module x', 'go.sum': '', 'main.go': '' }, ['go.mod', 'go.sum']],
    ['ruby', 'bundle install', { Gemfile: "gem 'rack'", 'Gemfile.lock': '', 'app.rb': '' }, ['Gemfile', 'Gemfile.lock']],
    ['elixir', 'mix deps.get --only prod', { 'mix.exs': '', 'mix.lock': '', 'lib/a.ex': '' }, ['mix.exs', 'mix.lock']],
    ['dotnet', 'dotnet restore App.csproj', { 'App.csproj': '<Project/>', 'Program.cs': '' }, ['App.csproj']],
    ['deno', 'deno install --frozen', { 'deno.json': '{}', 'deno.lock': '', 'main.ts': '' }, ['deno.json', 'deno.lock']],
  ])('%s: %s', async (stack, command, files, expected) => {
    expect(await choose(stack, command, files)).toEqual(expected)
  })
})

describe('a command that reads other files has no dependency layer', () => {
  test.each<[string, StackName, string, Record<string, string>]>([
    ['a script after it', 'node', 'npm ci', { 'package.json': '{"scripts":{"postinstall": "node x.js"}}' }],
    ['a folder of the project as a package', 'node', 'npm ci', { 'package.json': '{"dependencies":{"a":"file:a"}}' }],
    ['the project itself', 'python', 'pip install -r requirements.txt', { 'requirements.txt': '-e .' }],
    ['a project that is built', 'python', 'uv sync --frozen', { 'pyproject.toml': '[build-system]\n' }],
    ['a module beside it', 'go', 'go mod download', { 'go.mod': 'replace a => ../a' }],
    ['scripts of composer', 'php', 'composer install', { 'composer.json': '{"scripts": {"post-autoload-dump": []}}' }],
    ["a command of the user's own", 'node', './install.sh', { 'package.json': '{}' }],
    ['no manifest', 'node', 'npm ci', { 'index.js': '' }],
  ])('%s', async (_name, stack, command, files) => {
    expect(await choose(stack, command, files)).toBeNull()
  })
})
