import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeHandover, type Handover, lastStage } from './handover.ts'
import { fixedEnvironment, systemProgram } from './system-programs.ts'

const stages = [
  { name: 'Perl', words: lastStage(process.execPath), skip: systemProgram('perl') === null },
  { name: 'Node', words: lastStage(process.execPath, { perl: null }), skip: false },
]

describe.each(stages)('the handover to the program in $name', ({ words, skip }) => {
  const become = (handover: Handover | string) =>
    new Promise<{ code: number | null; stdout: Buffer; stderr: string }>((resolve) => {
      const [program, ...args] = words as [string, ...string[]]
      const child = spawn(program, args, {
        env: fixedEnvironment,
        cwd: '/',
        stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      })
      const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []]
      child.stdout?.on('data', (chunk) => stdout.push(chunk))
      child.stderr?.on('data', (chunk) => stderr.push(chunk))
      child.on('close', (code) => resolve({ code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() }))
      ;(child.stdio[3] as Writable).end(typeof handover === 'string' ? handover : encodeHandover(handover))
    })

  test.skipIf(skip)('every variable and argument is passed byte for byte', async () => {
    const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}$/)
    const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((one) => !one.includes('\0'))
    const special = ['IFS', 'OPTIND', 'UID', 'PPID', 'PWD', 'LD_PRELOAD', 'PERL5OPT', 'NODE_OPTIONS', 'SHELLOPTS', '_', 'LINENO']
    const samples = fc.sample(fc.tuple(fc.dictionary(name, text, { maxKeys: 12 }), fc.array(text, { maxLength: 5 })), {
      numRuns: 8,
      seed: 5,
    })
    for (const [variables, given] of samples) {
      const env = { ...variables, ...Object.fromEntries(special.map((one) => [one, '/no such thing'])), PATH: '/usr/bin:/bin' }
      const { stdout } = await become({ argv: ['/usr/bin/env', '-0'], cwd: '/', env })
      const found = stdout.toString().split('\0').slice(0, -1).sort()
      expect(found).toEqual(
        Object.entries(env)
          .map(([key, value]) => `${key}=${value}`)
          .sort(),
      )
      const output = await become({ argv: ['printf', '%s\\0', ...given], cwd: '/', env: { PATH: '/usr/bin:/bin' } })
      expect(output.stdout.toString()).toBe(given.length === 0 ? '\0' : given.map((one) => `${one}\0`).join(''))
    }
  })

  test.skipIf(skip)('the program has its working folder, no inherited file descriptors and no ignored signals', async () => {
    const script = 'pwd; for one in 3 4 5; do test -e /proc/$$/fd/$one && echo open; done; grep SigIgn /proc/self/status'
    const { stdout } = await become({ argv: ['sh', '-c', script], cwd: '/usr', env: { PATH: '/usr/bin:/bin' } })
    expect(stdout.toString()).toBe('/usr\nSigIgn:\t0000000000000000\n')
  })

  test.skipIf(skip)('a truncated handover starts nothing; a missing program is exit code 127', async () => {
    const whole = encodeHandover({ argv: ['echo', 'hello'], cwd: '/', env: { PATH: '/bin', A: 'b' } })
    expect(await become(whole.slice(0, -4))).toMatchObject({ code: 125, stdout: Buffer.alloc(0) })
    expect(await become('')).toMatchObject({ code: 125 })
    expect(await become({ argv: ['no-such-program'], cwd: '/', env: { PATH: '/bin' } })).toMatchObject({ code: 127 })
    expect(await become({ argv: ['echo'], cwd: '/no/such/folder', env: {} })).toMatchObject({ code: 126 })
  })
})

test('a NUL byte is refused before anything is started', () => {
  expect(() => encodeHandover({ argv: ['a'], cwd: '/', env: { A: 'b\0c' } })).toThrow('NUL byte')
})
