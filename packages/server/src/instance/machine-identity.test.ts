import { cpSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TempFolder, tempFolder } from '../../../../tests/kit/temp-folder.ts'
import { machineFileName, readMachineIdentity } from './machine-identity.ts'

let folder: TempFolder
beforeEach(async () => {
  folder = await tempFolder('machine')
})
afterEach(() => folder.remove())

test('the id is created once, readable by its owner only, and kept', () => {
  const first = readMachineIdentity({ dataDir: folder.path, role: 'all' })
  expect(first).toMatchObject({ id: expect.stringMatching(/^mch_[a-z2-7]{20}$/), dataDir: folder.path, role: 'all' })
  expect(statSync(join(folder.path, machineFileName)).mode & 0o777).toBe(0o600)
  expect(readMachineIdentity({ dataDir: folder.path, role: 'worker' })).toEqual({ ...first, role: 'worker' })
})

test('a copy of the folder has the same id at another location', async () => {
  await using elsewhere = await tempFolder('machine-copy')
  const first = readMachineIdentity({ dataDir: folder.path, role: 'all' })
  cpSync(folder.path, elsewhere.path, { recursive: true })
  const copied = readMachineIdentity({ dataDir: elsewhere.path, role: 'all' })
  expect(copied.id).toBe(first.id)
  expect(copied.location).not.toBe(first.location)
})

test.each(['', '{', '{"id":"vol_x"}', 'null'])('a damaged file (%j) is not replaced by a new id', (text) => {
  const file = join(folder.path, machineFileName)
  writeFileSync(file, text)
  expect(() => readMachineIdentity({ dataDir: folder.path, role: 'all' })).toThrow('does not contain a machine id')
  expect(readFileSync(file, 'utf8')).toBe(text)
})
