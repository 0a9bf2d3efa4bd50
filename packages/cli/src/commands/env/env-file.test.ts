import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readEnvFile, writeEnvFile } from './env-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-env-file-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const variables = [{ key: 'A', value: 'b', isSecret: false }]

test('a link to nothing is something that is there: nothing is made where it leads', () => {
  const [file, elsewhere] = [join(folder, '.env'), join(folder, 'elsewhere')]
  symlinkSync(elsewhere, file)
  expect(() => writeEnvFile(file, variables, false)).toThrow(/already exists/)
  expect(existsSync(elsewhere)).toBe(false)
})

test('with --force the file takes the place of a link, and what it led to stays as it was', () => {
  const [file, elsewhere] = [join(folder, '.env'), join(folder, 'elsewhere')]
  writeFileSync(elsewhere, 'mine')
  symlinkSync(elsewhere, file)
  writeEnvFile(file, variables, true)
  expect(readFileSync(elsewhere, 'utf8')).toBe('mine')
  expect(lstatSync(file).isFile()).toBe(true)
})

test('only its owner may read it, also where others could read the file before', () => {
  const file = join(folder, '.env')
  writeFileSync(file, 'OLD=1\n', { mode: 0o644 })
  writeEnvFile(file, variables, true)
  expect(readFileSync(file, 'utf8')).toBe('A=b\n')
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('a target that is not a file, such as /dev/stdout, is written to and not replaced', () => {
  const file = join(folder, 'nowhere')
  symlinkSync('/dev/null', file)
  writeEnvFile(file, variables, true)
  expect(lstatSync(file).isSymbolicLink()).toBe(true)
})

test('a line with export and without a value is a variable', () => {
  const file = join(folder, '.env')
  writeFileSync(file, 'export A=\n  export B=2\nC="x\ny"\n')
  expect(readEnvFile(file)).toEqual([
    { key: 'A', value: '' },
    { key: 'B', value: '2' },
    { key: 'C', value: 'x\ny' },
  ])
})
