import { execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { systemProgram } from '../sandbox/system-programs.ts'

const isRoot = process.getuid?.() === 0
const ownUid = process.getuid?.() ?? 0
const hasBubblewrap = systemProgram('bwrap') !== null
const ways = [
  { name: 'as root', uid: 0, skip: !isRoot || !hasBubblewrap },
  { name: 'unprivileged', uid: isRoot ? 54_321 : ownUid, skip: !hasBubblewrap },
]

describe.each(ways)('volumes inside folders that a project can change, $name', ({ uid, skip }) => {
  test.skipIf(skip)('a symlink moves no mount point out of the sandbox; folders are mounted', async () => {
    const dataDir = await mkdtemp('/tmp/berth-nested-')
    try {
      await chmod(dataDir, 0o755)
      if (isRoot) await chown(dataDir, uid, uid)
      const who = isRoot ? { uid, gid: uid } : {}
      const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: dataDir }
      const bench = join(import.meta.dirname, 'nested-bench.ts')
      const args = ['--no-warnings', bench, dataDir]
      const { stdout } = await promisify(execFile)(process.execPath, args, { ...who, env, cwd: '/', timeout: 280_000 })
      const { outcomes, outside, ran } = JSON.parse(stdout)
      expect(outside).toEqual([])
      expect(ran).toBe(false)
      for (const { mountPath, state, exitCode, text } of outcomes)
        if (mountPath.includes('folder')) expect({ mountPath, state, text }).toEqual({ mountPath, state: 'running', text: '' })
        else {
          expect({ mountPath, state, exitCode }).toEqual({ mountPath, state: 'exited', exitCode: 125 })
          expect(text).toContain(`The volume cannot be mounted at ${mountPath}: the path is a file or leads through a symlink`)
        }
      expect(outcomes).toHaveLength(16)
    } finally {
      await rm(dataDir, { recursive: true, force: true })
    }
  })
})
