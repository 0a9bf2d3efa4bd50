import { describe, expect, test } from 'vitest'
import { type BuildPlan, emptyPlan } from '../../build-plan.ts'
import { recipeFor } from './recipe-for.ts'

const plan = (changes: Partial<BuildPlan>): BuildPlan => ({ ...emptyPlan, port: 3000, ...changes })

describe('each stack has an image, and the tools that the image lacks', () => {
  test.each<[string, Partial<BuildPlan>, { buildImage: string; runImage?: string; setup?: RegExp }]>([
    ['npm', { language: 'javascript', packageManager: 'npm' }, { buildImage: 'node:24-bookworm' }],
    [
      'pnpm',
      { language: 'typescript', packageManager: 'pnpm' },
      { buildImage: 'node:24-bookworm', setup: /corepack enable pnpm/ },
    ],
    [
      'yarn',
      { language: 'typescript', packageManager: 'yarn' },
      { buildImage: 'node:24-bookworm', setup: /corepack enable yarn/ },
    ],
    ['bun', { language: 'typescript', packageManager: 'bun' }, { buildImage: 'oven/bun:1' }],
    ['deno', { language: 'typescript', packageManager: 'deno' }, { buildImage: 'denoland/deno:2' }],
    ['pip', { language: 'python', packageManager: 'pip' }, { buildImage: 'python:3.13-bookworm' }],
    ['uv', { language: 'python', packageManager: 'uv' }, { buildImage: 'python:3.13-bookworm', setup: /pip install uv/ }],
    [
      'poetry',
      { language: 'python', packageManager: 'poetry' },
      { buildImage: 'python:3.13-bookworm', setup: /pip install poetry/ },
    ],
    [
      'pipenv',
      { language: 'python', packageManager: 'pipenv' },
      { buildImage: 'python:3.13-bookworm', setup: /pip install pipenv/ },
    ],
    ['go', { language: 'go', packageManager: 'go' }, { buildImage: 'golang:1.25-bookworm', runImage: 'debian:bookworm-slim' }],
    ['rust', { language: 'rust', packageManager: 'cargo' }, { buildImage: 'rust:1-bookworm', runImage: 'debian:bookworm-slim' }],
    ['ruby', { language: 'ruby', packageManager: 'bundler' }, { buildImage: 'ruby:3.4-bookworm' }],
    ['php', { language: 'php', packageManager: 'composer' }, { buildImage: 'php:8.4-cli-bookworm', setup: /composer/ }],
    [
      'maven',
      { language: 'java', packageManager: 'maven', buildCommand: 'mvn package' },
      { buildImage: 'maven:3-eclipse-temurin-21', runImage: 'eclipse-temurin:21-jre' },
    ],
    [
      'gradle',
      { language: 'kotlin', packageManager: 'gradle', buildCommand: 'gradle build' },
      { buildImage: 'gradle:jdk21', runImage: 'eclipse-temurin:21-jre' },
    ],
    [
      'gradle with its wrapper',
      { language: 'java', packageManager: 'gradle', buildCommand: './gradlew build' },
      { buildImage: 'eclipse-temurin:21', runImage: 'eclipse-temurin:21-jre' },
    ],
    [
      '.NET',
      { language: 'csharp', packageManager: 'nuget' },
      { buildImage: 'mcr.microsoft.com/dotnet/sdk:9.0', runImage: 'mcr.microsoft.com/dotnet/aspnet:9.0' },
    ],
    ['elixir', { language: 'elixir', packageManager: 'mix' }, { buildImage: 'elixir:1.18', setup: /mix local\.hex/ }],
    ['pages', { language: 'html' }, { buildImage: 'node:24-bookworm' }],
  ])('%s', (_name, changes, expected) => {
    const recipe = recipeFor(plan(changes))
    expect(recipe?.buildImage).toBe(expected.buildImage)
    expect(recipe?.runImage).toBe(expected.runImage ?? expected.buildImage)
    if (expected.setup) expect(recipe?.setup.join('\n')).toMatch(expected.setup)
    else expect(recipe?.setup).toEqual([])
  })

  test('an unknown stack has no recipe', () => {
    expect(recipeFor(plan({}))).toBeUndefined()
  })
})

describe('the requested version', () => {
  test.each([
    ['22', 'node:22-bookworm'],
    ['22.11.0', 'node:22-bookworm'],
    ['^18.2', 'node:18-bookworm'],
    ['>=20', 'node:24-bookworm'],
    ['>=26', 'node:26-bookworm'],
    ['lts/*', 'node:24-bookworm'],
    ['lts/iron', 'node:20-bookworm'],
    ['^20.9 || ^22 || >=24', 'node:24-bookworm'],
    ['^20.9 || ^22', 'node:20-bookworm'],
  ])('node %s', (version, image) => {
    expect(recipeFor(plan({ language: 'javascript', runtimeVersion: { node: version } }))?.buildImage).toBe(image)
  })

  test.each([
    ['pnpm', '9.15.0', "'pnpm@9.15.0'"],
    ['pnpm', '>=9 <11', "'pnpm@>=9 <11'"],
    ['yarn', '1', "'yarn@1'"],
    ['yarn', '4.5.1', "'@yarnpkg/cli-dist@4.5.1'"],
    ['npm', '10.9.0', "'npm@10.9.0'"],
  ])('%s %s', (packageManager, version, installed) => {
    const { setup } = recipeFor(plan({ packageManager, runtimeVersion: { [packageManager]: version } })) ?? { setup: [] }
    expect(setup).toEqual([expect.stringContaining(`npm install -g --force ${installed} `)])
  })

  test('an invalid version never reaches a shell', () => {
    const hostile = { packageManager: 'pnpm', runtimeVersion: { pnpm: "9'; touch /tmp/x #" } }
    expect(recipeFor(plan(hostile))?.setup.join()).not.toContain('touch')
  })

  test.each([
    ['>=3.9,<3.12', 'python:3.9-bookworm'],
    ['>=3.9', 'python:3.13-bookworm'],
  ])('python %s', (version, image) => {
    expect(recipeFor(plan({ language: 'python', runtimeVersion: { python: version } }))?.buildImage).toBe(image)
  })

  test('python 3.11.4 is 3.11', () => {
    expect(recipeFor(plan({ language: 'python', runtimeVersion: { python: '3.11.4' } }))?.buildImage).toBe('python:3.11-bookworm')
  })
})

describe('another image', () => {
  test('from the settings is used to build and run', () => {
    const recipe = recipeFor(plan({ language: 'go' }), { go: 'registry.local/go:1' })
    expect(recipe).toMatchObject({ buildImage: 'registry.local/go:1', runImage: 'registry.local/go:1', copiedFolders: [] })
  })

  test('from the project wins over the one from the settings', () => {
    expect(recipeFor(plan({ language: 'go', buildImage: 'mine:1' }), { go: 'theirs:1' })?.buildImage).toBe('mine:1')
  })
})

test.each(['npm', 'pnpm', 'yarn', 'bun'])(
  '%s builds for production, with the tools among the development dependencies',
  (packageManager) => {
    const recipe = recipeFor(plan({ packageManager }))
    expect({ ...recipe?.env, ...recipe?.buildEnv }).not.toHaveProperty('NODE_ENV')
    expect(recipe?.runEnv).toEqual({ NODE_ENV: 'production' })
  },
)

test('contains only the programs that cargo builds', () => {
  const { isExcluded } = recipeFor(plan({ language: 'rust' })) ?? { isExcluded: () => false }
  const kept = ['app/', 'app/src/main.rs', 'app/target/', 'app/target/release/', 'app/target/release/server']
  expect(kept.filter(isExcluded)).toEqual([])
  expect(['app/target/release/deps/x', 'app/target/debug/server', 'app/target/release/.fingerprint/y'].every(isExcluded)).toBe(
    true,
  )
})
