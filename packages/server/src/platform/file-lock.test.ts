import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { takeFileLock } from './file-lock.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-lock-'))
  path = join(folder, 'lock')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const ioError = () => Object.assign(new Error('disk I/O error'), { errcode: 10 | (15 << 8) })

test('is held by one until it is released', () => {
  const lock = takeFileLock(path)
  expect(lock).not.toBeNull()
  expect(takeFileLock(path)).toBeNull()
  lock?.release()
  const next = takeFileLock(path)
  expect(next).not.toBeNull()
  next?.release()
})

test('a temporary disk error is retried', () => {
  let requested = 0
  const open = () => {
    if (++requested < 3) throw ioError()
    return new DatabaseSync(path)
  }
  takeFileLock(path, { open })?.release()
  expect(requested).toBe(3)
})

test('a persistent failure is reported', () => {
  const open = () => {
    throw ioError()
  }
  expect(() => takeFileLock(path, { open })).toThrow(`${path} cannot be locked: disk I/O error`)
})

test('a file that cannot be opened is reported at once', () => {
  expect(() => takeFileLock(join(folder, 'nowhere', 'lock'))).toThrow(/nowhere\/lock cannot be locked: unable to open/)
})
