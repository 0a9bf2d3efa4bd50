import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type HostingOptions, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { lookUp } from '../kit/machine.ts'
import { startBerth } from '../kit/start-berth.ts'

const isRoot = process.getuid?.() === 0
const unprivilegedUid = 54_321
const hasBubblewrap = 'value' in lookUp('bwrap')

const ways: { name: string; kind: string; options: HostingOptions; skip: boolean }[] = [
  { name: 'bubblewrap', kind: 'bubblewrap', options: {}, skip: !hasBubblewrap },
  { name: 'bubblewrap, not root', kind: 'bubblewrap', options: { user: unprivilegedUid }, skip: !isRoot || !hasBubblewrap },
  { name: 'own users', kind: 'own-users', options: { env: { BERTH_ISOLATION: 'own-users' } }, skip: !isRoot },
  { name: 'none, not root', kind: 'none', options: { user: unprivilegedUid, env: { BERTH_ISOLATION: 'none' } }, skip: !isRoot },
]

describe.each(ways)('isolation: $name', ({ kind, options, skip }) => {
  test.skipIf(skip)('the isolation is printed at start and shown in health, and a project goes live', async () => {
    await using hosting = await startHosting(options)
    expect(hosting.berth.output()).toMatch(/^ {2}isolation +\S/m)
    expect((await hosting.api('GET', '/health')).body.data.isolation.kind).toBe(kind)
    const folder = join(hosting.folder, 'app')
    await writeApp(folder, serving('hello'))
    const project = await hosting.makeProject({
      name: 'App',
      gitProvider: 'local',
      localPath: folder,
      buildCommand: 'node --version',
    })
    expect((await hosting.settled(await hosting.deploy(project.id))).error).toBeNull()
    expect((await hosting.get(`${project.slug}.localhost`)).text).toBe('hello')
    const second = await hosting.api('POST', '/organizations', { name: 'Second' })
    expect([second.status, second.body.code]).toEqual(kind === 'none' ? [409, 'no_isolation'] : [201, undefined])
  })
})

test.skipIf(!isRoot)('in cloud mode, a machine without isolation stops the start with a one-line error', async () => {
  const start = startBerth({
    user: unprivilegedUid,
    env: { BERTH_RUNTIME: 'process', BERTH_MODE: 'cloud', BERTH_ISOLATION: 'none' },
  })
  await expect(start).rejects.toThrow('BERTH_MODE is "cloud"')
})
