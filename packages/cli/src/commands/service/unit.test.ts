import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { environmentLine, unitName, unitText } from './unit.ts'

const analyze = '/usr/bin/systemd-analyze'
const options = { node: process.execPath, launcher: import.meta.filename, environmentFile: '/etc/berth.env' }

test('a stop of the unit ends the control plane alone, and berth down is not undone by a restart', () => {
  for (const isSystem of [true, false]) {
    const lines = unitText({ ...options, isSystem }).split('\n')
    for (const line of ['KillMode=process', 'Environment=BERTH_ON_STOP=keep', 'Restart=on-failure']) expect(lines).toContain(line)
    // A restart would replace the folder that running projects use.
    expect(lines.join()).not.toContain('PrivateTmp=')
  }
})

test('paths with spaces, quotes, $ and % reach the program unchanged', () => {
  const text = unitText({ ...options, isSystem: true, launcher: '/opt/a b/"q"/$HOME/100%/\\' })
  expect(text).toContain(String.raw`"/opt/a b/\"q\"/$$HOME/100%%/\\" "up"`)
})

test('a setting is quoted for an environment file; one of several lines is refused', () => {
  expect(environmentLine('BERTH_X', String.raw`a "b" $c \d`)).toBe(String.raw`BERTH_X="a \"b\" \$c \\d"`)
  expect(environmentLine('BERTH_X', 'a\nb')).toBeNull()
})

test.skipIf(!existsSync(analyze))('systemd accepts the units', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-unit-'))
  try {
    for (const isSystem of [true, false]) {
      const file = join(folder, unitName)
      await writeFile(file, unitText({ ...options, isSystem }))
      const args = ['verify', '--man=no', ...(isSystem ? [] : ['--user']), file]
      const { stderr } = await promisify(execFile)(analyze, args, {
        env: { PATH: process.env.PATH, HOME: folder, XDG_RUNTIME_DIR: folder },
      })
      expect(stderr.split('\n').filter((line) => line.includes(unitName))).toEqual([])
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
