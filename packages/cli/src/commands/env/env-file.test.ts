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

test('refuses to overwrite a dangling symlink, and does not create its target', () => {
  const [file, elsewhere] = [join(folder, '.env'), join(folder, 'elsewhere')]
  symlinkSync(elsewhere, file)
  expect(() => writeEnvFile(file, variables, false)).toThrow(/already exists/)
  expect(existsSync(elsewhere)).toBe(false)
})

test('with --force a regular file replaces a symlink, and the target of the symlink is unchanged', () => {
  const [file, elsewhere] = [join(folder, '.env'), join(folder, 'elsewhere')]
  writeFileSync(elsewhere, 'mine')
  symlinkSync(elsewhere, file)
  writeEnvFile(file, variables, true)
  expect(readFileSync(elsewhere, 'utf8')).toBe('mine')
  expect(lstatSync(file).isFile()).toBe(true)
})

test('the file is readable by its owner only, even if the replaced file was readable by others', () => {
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
