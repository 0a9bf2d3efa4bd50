import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compareVersions } from '../../bin/versions.js'
import { refuseUnknownMigrations, requireSpace } from './check-target.ts'

const version = (name: string, ...migrations: string[]) => ({ version: name, protocol: 1, migrations })

test('an older version is refused only if it does not know a migration of the database', () => {
  const current = version('1.1.0', '001-a', '002-b')
  refuseUnknownMigrations(current, version('1.0.0', '001-a', '002-b'))
  refuseUnknownMigrations(current, version('1.2.0', '001-a', '002-b', '003-c'))
  expect(() => refuseUnknownMigrations(current, version('1.0.0', '001-a'))).toThrow(
    'Version 1.0.0 does not know the migration 002-b of this database',
  )
})

test('the free space has to hold the copies of the database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-space-'))
  try {
    writeFileSync(join(folder, 'berth.db'), Buffer.alloc(2_000_000))
    writeFileSync(join(folder, 'berth.db-wal'), Buffer.alloc(1_000_000))
    requireSpace(folder, 309_000_000)
    expect(() => requireSpace(folder, 308_000_000)).toThrow('needs 309 MB of free disk space')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('versions are ordered as npm orders them', () => {
  const ordered = [
    '0.9.10',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    '1.0.1',
    '1.10.0',
  ]
  expect(ordered.toReversed().sort(compareVersions)).toEqual(ordered)
})
