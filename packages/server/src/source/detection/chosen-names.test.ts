import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { detectFolder } from './detect-folder.ts'
import { knownFrameworks, knownPackageManagers } from './known-names.ts'

const fixtures = join(import.meta.dirname, '../../../tests/detection/fixtures')
const names = readdirSync(fixtures, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
const expected = (name: string) => JSON.parse(readFileSync(join(fixtures, `${name}.expected.json`), 'utf8'))
const at = (name: string, options: object) => detectFolder(join(fixtures, name), options)

describe('framework', () => {
  test.each(names)('%s: setting the detected framework changes nothing', async (name) => {
    const { framework } = expected(name)
    if (framework === null) return
    expect(knownFrameworks).toContain(framework)
    expect(await at(name, { framework })).toEqual(expected(name))
  })

  test.each(names)('%s: the detected package manager is a known one, and setting it changes nothing', async (name) => {
    const { packageManager } = expected(name)
    if (packageManager === null) return
    expect(knownPackageManagers).toContain(packageManager)
    const { installCommand, buildCommand, startCommand } = await at(name, { packageManager })
    expect({ installCommand, buildCommand, startCommand }).toEqual({
      installCommand: expected(name).installCommand,
      buildCommand: expected(name).buildCommand,
      startCommand: expected(name).startCommand,
    })
  })

  test.each([
    ['express', 'vite', { type: 'static', framework: 'vite', outputDirectory: 'dist', startCommand: null }],
    ['express', 'nextjs', { type: 'app', framework: 'nextjs', buildCommand: 'npx --no-install next build' }],
    ['vite', 'express', { type: 'app', framework: 'express' }],
    ['static-html', 'hugo', { type: 'static', framework: 'hugo', buildCommand: 'hugo --minify', outputDirectory: 'public' }],
    ['dockerfile-node', 'node', { type: 'app', framework: 'node' }],
    ['express', 'static', { type: 'static', framework: 'static', outputDirectory: '.', buildCommand: null }],
  ])('%s with the framework %s', async (name, framework, plan) => {
    expect(expected(name).framework).not.toBe(framework)
    expect(await at(name, { framework })).toMatchObject(plan)
  })

  test('a framework without its manifest is a mismatch; one that the runtime cannot use is detected again', async () => {
    expect((await at('express', { framework: 'rust' })).mismatch).toMatch(/framework is set to rust/)
    const without = { framework: 'dockerfile', without: ['dockerfile'] }
    expect((await at('dockerfile-node', without)).framework).not.toBe('dockerfile')
  })
})

describe('packageManager', () => {
  test.each([
    ['express', 'pnpm', 'pnpm install', /^(node|pnpm) /],
    ['express', 'yarn', 'yarn install', /^(node|yarn) /],
    ['express', 'bun', 'bun install', /./],
    ['monorepo-pnpm', 'npm', /^npm (ci|install)$/, /./],
    ['python-pip', 'uv', /^uv sync/, /^uv run /],
    ['python-poetry', 'pip', /^pip install|^$/, /./],
  ])('%s with %s is installed and run with it', async (name, packageManager, install, start) => {
    const detection = await at(name, { packageManager })
    expect(detection.packageManager).toBe(packageManager)
    expect(detection.installCommand ?? '').toMatch(install)
    if (detection.startCommand) expect(detection.startCommand).toMatch(start)
  })

  test('scripts run with it too, with any lockfile', async () => {
    const plan = await at('nextjs', { packageManager: 'pnpm' })
    expect([plan.packageManager, plan.installCommand]).toEqual(['pnpm', 'pnpm install'])
    expect(plan.buildCommand).toMatch(/^pnpm /)
  })

  test('an unused package manager is named in a warning', async () => {
    expect((await at('go', { packageManager: 'pnpm' })).warnings.join()).toMatch(/packageManager is set to pnpm/)
  })
})
