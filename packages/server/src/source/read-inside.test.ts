import { execFileSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readIgnore } from '../drivers/runtime/docker/build/build-dockerfile.ts'
import { readInside } from './read-inside.ts'

let base: string
let root: string
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'berth-inside-')))
  root = join(base, 'project')
  execFileSync('mkdir', ['-p', join(root, 'shared')])
  writeFileSync(join(base, 'secret'), 'canary')
  writeFileSync(join(root, 'shared/ignore'), 'dist')
  writeFileSync(join(root, 'large'), 'x'.repeat(2000))
  execFileSync('mkfifo', [join(root, 'pipe')])
})
afterAll(() => rmSync(base, { recursive: true, force: true }))

const targets = ['/dev/zero', '/proc/self/environ', '../secret', '/etc/passwd', 'pipe', 'shared']

test.each(targets)('a symlink to %s is not followed, with any name', async (target) => {
  for (const name of ['.dockerignore', 'Dockerfile', 'package.json']) {
    symlinkSync(target, join(root, name))
    try {
      expect(await readInside(root, name, { maxBytes: 1000 })).toEqual({ text: null, why: 'outside' })
      if (name === '.dockerignore')
        await expect(readIgnore(root, 'Dockerfile', root)).rejects.toThrow(
          /not a file of the project, or is a link that points outside it/,
        )
    } finally {
      rmSync(join(root, name))
    }
  }
})

test('a symlink to a file of the project is read; a pipe, a missing file and a too large file are not', async () => {
  symlinkSync('shared/ignore', join(root, '.dockerignore'))
  expect(await readIgnore(root, 'Dockerfile', root)).toBe('dist')
  rmSync(join(root, '.dockerignore'))
  expect(await readIgnore(root, 'Dockerfile', root)).toBe('')
  expect(await readInside(root, 'pipe', { maxBytes: 1000 })).toEqual({ text: null, why: 'outside' })
  expect(await readInside(root, 'gone', { maxBytes: 1000 })).toEqual({ text: null, why: 'missing' })
  expect(await readInside(root, '../secret', { maxBytes: 1000 })).toEqual({ text: null, why: 'outside' })
  expect(await readInside(root, 'large', { maxBytes: 1000 })).toEqual({ text: null, why: 'too large' })
  expect(await readInside(root, 'large', { maxBytes: 1000, onlyStart: true })).toMatchObject({ text: 'x'.repeat(1000) })
})
