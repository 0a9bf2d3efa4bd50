import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemProgram } from '../sandbox/system-programs.ts'
import { inSessionText, keyCalls } from './attack-program.ts'

const isRoot = process.getuid?.() === 0
/** A user id without an account on the machine. */
const unprivilegedUid = 54_321
const hasBubblewrap = systemProgram('bwrap') !== null

const ways = [
  { name: 'bubblewrap, as root', kind: 'bubblewrap', uid: 0, skip: !isRoot || !hasBubblewrap },
  {
    name: 'bubblewrap, unprivileged',
    kind: 'bubblewrap',
    uid: isRoot ? unprivilegedUid : (process.getuid?.() ?? 0),
    skip: !hasBubblewrap,
  },
  { name: 'users of their own, as root', kind: 'own-users', uid: 0, skip: !isRoot },
]

describe.each(ways)('an attacking project on plain processes: $name', ({ kind, uid, skip }) => {
  test.skipIf(skip)('gets no data or rights of others', async () => {
    const location = await mkdtemp(join(tmpdir(), 'berth-attack-'))
    try {
      // Other users can enter this folder, so only the sandbox protects the data.
      await chmod(location, 0o755)
      const dataDir = join(location, 'data')
      await mkdir(dataDir, { mode: 0o700 })
      if (isRoot) await chown(dataDir, uid, uid)
      const { found, wanted, lateAfterBuild, victimLives, canary } = await attack(dataDir, kind, uid)

      if (uid === 0) expect(found.uid).toBeGreaterThanOrEqual(0x10000000)
      else expect(found.uid).toBe(uid)
      expect(found.status).toMatch(/CapEff:\t0+ /)
      expect(found.status).toMatch(/CapPrm:\t0+ /)
      expect(found.status).toContain('NoNewPrivs:\t1')
      expect(JSON.stringify([found.read, found.environ, found.commands, found.listed])).not.toContain('SECRET')
      for (const [path, names] of Object.entries(found.listed))
        expect(names, path).not.toContainEqual(expect.stringContaining('victim'))
      expect(found.listed[dataDir]).toMatch(/^E/)
      for (const [path, outcome] of Object.entries(found.wrote)) expect(outcome, path).toMatch(/^E/)
      expect(found.signal).toMatch(/^E(PERM|SRCH)$/)
      expect(victimLives).toBe(true)
      // The kernel's keys of the session that started Berth stay out of reach.
      expect(found.key).not.toContain('SECRET')
      // The attacker's variables affected no program of Berth, and reached the project byte for byte.
      expect(canary).toEqual([])
      expect(found.env).toMatchObject(wanted)
      // The attacker's fakes ran only as the attacker, and only when it called them.
      const own = found.uid
      for (const line of String(found.fakes).trim().split('\n')) expect(line).toMatch(new RegExp(`^(setpriv|startup) as ${own}$`))
      expect(lateAfterBuild).toBe(0)
      if (kind === 'bubblewrap') expect(found.commands).toEqual([])
    } finally {
      await rm(location, { recursive: true, force: true })
    }
  })
})

interface Outcome {
  found: {
    uid: number
    status: string
    read: Record<string, string>
    listed: Record<string, string | string[]>
    environ: string
    commands: string[]
    signal: unknown
    key: string
    wrote: Record<string, string>
    fakes: string
    env: Record<string, string>
  }
  wanted: Record<string, string>
  lateAfterBuild: number
  victimLives: boolean
  canary: string[]
}

function attack(dataDir: string, kind: string, uid: number): Promise<Outcome> {
  const bench = join(import.meta.dirname, 'attack-bench.ts')
  const who = isRoot ? { uid, gid: uid } : {}
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: dataDir }
  const words = [process.execPath, '--no-warnings', bench, dataDir, kind]
  const [program, ...args] = inSession(words) as [string, ...string[]]
  return new Promise((resolve, reject) => {
    execFile(program, args, { ...who, env, cwd: '/', timeout: 280_000 }, (error, stdout, stderr) => {
      const line = stdout.split('\n').find((one) => one.startsWith('{"found"'))
      if (line) resolve(JSON.parse(line))
      else reject(new Error(`${error?.message}\n${stdout}\n${stderr}`))
    })
  })
}

/** Runs the command in a session keyring with a key, on machines with Perl and known system call numbers. */
function inSession(words: string[]): string[] {
  const perl = systemProgram('perl')
  return perl && keyCalls.length > 0 ? [perl, '-e', inSessionText, ...keyCalls, ...words] : words
}
