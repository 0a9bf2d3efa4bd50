import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CommandAborted, CommandFailed, CommandNotStarted, CommandTimedOut, ProgramMissing } from './command-errors.ts'
import { createRunCommand } from './run-command.ts'

const run = createRunCommand(process.env)
const limits = { timeoutMs: 60_000, maxOutputBytes: 100_000 }
const sh = (script: string, ...args: string[]) => ({ program: 'sh', args: ['-c', script, 'sh', ...args] })

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-shell-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('a command', () => {
  test('gets its arguments without a shell', async () => {
    const words = ['$(id)', '`id`', '; id', 'a b', '', '"', "'", '*', '\n', '--x']
    const { stdout, exitCode } = await run({ program: 'printf', args: ['%s|', ...words] }, limits)
    expect(stdout).toBe(words.map((word) => `${word}|`).join(''))
    expect(exitCode).toBe(0)
  })

  test('inherits only the named environment variables', async () => {
    const careful = createRunCommand({
      PATH: process.env.PATH,
      LANG: 'C.UTF-8',
      BERTH_MASTER_KEY: 'canary',
      SSL_CERT_FILE: '/ca',
    })
    const { stdout } = await careful({ program: 'env', args: [], env: { OWN: 'yes' } }, limits)
    expect(stdout.trim().split('\n').sort()).toEqual(['LANG=C.UTF-8', 'OWN=yes', `PATH=${process.env.PATH}`, 'SSL_CERT_FILE=/ca'])
  })

  test('has an empty stdin without input, and gets every byte of an input', async () => {
    expect((await run({ program: 'cat', args: [] }, limits)).stdout).toBe('')
    expect((await run({ program: 'cat', args: [] }, { ...limits, input: 'häl\0lo' })).stdout).toBe('häl\0lo')
    async function* chunks() {
      for (let i = 0; i < 50; i += 1) yield Buffer.alloc(10_000, 'x')
    }
    expect((await run({ program: 'wc', args: ['-c'] }, { ...limits, input: chunks() })).stdout.trim()).toBe('500000')
  })

  test('ends even if it does not read its input, also while the source is silent', async () => {
    async function* silent() {
      yield Buffer.alloc(1_000_000)
      await new Promise(() => {})
    }
    expect((await run({ program: 'true', args: [] }, { ...limits, input: silent() })).exitCode).toBe(0)
  })

  test('ends if the source fails, with the error of the source', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a')
      throw new Error('upload cut')
    }
    await expect(run(sh('cat; sleep 60'), { ...limits, input: broken(), graceMs: 500 })).rejects.toThrow('upload cut')
  })

  test('gets a secret on descriptor 3 and in no argument, variable or file', async () => {
    const script =
      'IFS= read -r secret <&3; printf "%s" "$secret"; tr "\\0" "\\n" </proc/$$/environ; tr "\\0" "\\n" </proc/$$/cmdline'
    const { stdout } = await run(sh(script), { ...limits, secretInput: 'canary-4711' })
    expect(stdout.split('canary-4711').length - 1).toBe(1)
    expect(stdout.startsWith('canary-4711')).toBe(true)
  })
})

describe('output', () => {
  test('keeps the first bytes of stdout and the last of stderr, and reports truncation', async () => {
    const result = await run(sh('i=0; while [ $i -lt 3000 ]; do echo out$i; echo err$i >&2; i=$((i+1)); done'), {
      ...limits,
      maxOutputBytes: 50,
    })
    expect(result.truncated).toBe(true)
    expect(result.stdout).toHaveLength(50)
    expect(result.stdout.startsWith('out0\nout1\n')).toBe(true)
    expect(result.stderr).toHaveLength(50)
    expect(result.stderr.endsWith('err2998\nerr2999\n')).toBe(true)
  })

  test('of exactly the limit is not truncated', async () => {
    const result = await run(sh('printf 12345; printf 12345 >&2'), { ...limits, maxOutputBytes: 5 })
    expect(result).toMatchObject({ stdout: '12345', stderr: '12345', truncated: false })
  })

  test('is passed to a receiver in order, with backpressure', async () => {
    let received = 0
    let atOnce = 0
    await run(
      { program: 'head', args: ['-c', '3000000', '/dev/zero'] },
      {
        ...limits,
        maxOutputBytes: 0,
        onStdout: async (chunk) => {
          atOnce += 1
          expect(atOnce).toBe(1)
          await delay(1)
          received += chunk.length
          atOnce -= 1
        },
      },
    )
    expect(received).toBe(3_000_000)
  })

  test('is subject to the time limit if the receiver never returns', async () => {
    const onStdout = () => new Promise<void>(() => {})
    await expect(run(sh('echo a'), { ...limits, onStdout, timeoutMs: 200, graceMs: 100 })).rejects.toBeInstanceOf(CommandTimedOut)
  })

  test('ends the command if the receiver throws', async () => {
    const onStdout = () => {
      throw new Error('disk full')
    }
    await expect(run(sh('echo a; sleep 60'), { ...limits, onStdout, graceMs: 500 })).rejects.toThrow('disk full')
  })
})

describe('a failure is typed', () => {
  test('an exit code, with the last lines of stderr', async () => {
    const error = await run(sh('echo noise; seq 1 100 >&2; echo "fatal: it broke" >&2; exit 3'), limits).catch((e) => e)
    expect(error).toBeInstanceOf(CommandFailed)
    expect(error).toMatchObject({ exitCode: 3, program: 'sh' })
    expect(error.lastLines.endsWith('100\nfatal: it broke')).toBe(true)
    expect(error.lastLines.split('\n')).toHaveLength(20)
    expect(error.message).toMatch(/^sh ended with exit code 3: /)
  })

  test('the last lines of stdout where stderr is empty', async () => {
    await expect(run(sh('echo why; exit 1'), limits)).rejects.toThrow('sh ended with exit code 1: why')
  })

  test('a signal', async () => {
    await expect(run(sh('kill -SEGV $$'), limits)).rejects.toThrow('sh was ended by SIGSEGV')
  })

  test('accepted exit codes are results', async () => {
    expect((await run(sh('exit 3'), { ...limits, acceptExitCodes: [0, 3] })).exitCode).toBe(3)
    expect((await run(sh('exit 9'), { ...limits, acceptExitCodes: 'any' })).exitCode).toBe(9)
  })

  test('a missing program with the package to install', async () => {
    const bare = createRunCommand({ PATH: folder })
    const error = await bare({ program: 'ssh', args: [] }, limits).catch((e) => e)
    expect(error).toBeInstanceOf(ProgramMissing)
    expect(error.message).toContain('install openssh-client')
  })

  test('a missing working folder', async () => {
    const error = await run({ program: 'true', args: [], cwd: join(folder, 'nowhere') }, limits).catch((e) => e)
    expect(error).toBeInstanceOf(CommandNotStarted)
    expect(error.message).toContain('working folder')
  })

  test('a NUL in an argument', async () => {
    await expect(run({ program: 'echo', args: ['a\0b'] }, limits)).rejects.toBeInstanceOf(CommandNotStarted)
  })
})

describe('the whole process group is ended', () => {
  /** A child of a child that ignores TERM, its number written to a file. */
  const stubborn = (file: string) => sh('(trap "" TERM; echo $$ >/dev/null; exec sleep 300) & echo $! > "$1"; wait', file)

  async function sleeperIn(file: string): Promise<number> {
    for (;;) {
      const text = await readFile(file, 'utf8').catch(() => '')
      if (text.trim()) return Number(text)
      await delay(10)
    }
  }

  test('at the time limit', async () => {
    const file = join(folder, 'timed')
    const error = await run(stubborn(file), { ...limits, timeoutMs: 300, graceMs: 200 }).catch((e) => e)
    expect(error).toBeInstanceOf(CommandTimedOut)
    expect(error.message).toBe('sh was stopped after 0.3 seconds')
    expect(isAlive(await sleeperIn(file))).toBe(false)
  })

  test('on abort, and only that command', async () => {
    const [first, second] = [join(folder, 'first'), join(folder, 'second')]
    const stop = new AbortController()
    const other = new AbortController()
    const running = run(stubborn(first), { ...limits, abort: stop.signal, graceMs: 200 }).catch((e) => e)
    const bystander = run(stubborn(second), { ...limits, abort: other.signal, graceMs: 0 }).catch((e) => e)
    const [pid, otherPid] = await Promise.all([sleeperIn(first), sleeperIn(second)])
    stop.abort(new Error('cancelled by the user'))
    const error = await running
    expect(error).toBeInstanceOf(CommandAborted)
    expect(error.cause).toEqual(new Error('cancelled by the user'))
    expect(isAlive(pid)).toBe(false)
    expect(isAlive(otherPid)).toBe(true)
    other.abort()
    await bystander
  })

  test('after the command has ended by itself', async () => {
    const file = join(folder, 'left')
    const { stdout } = await run(sh('sleep 300 & echo $! > "$1"; echo done', file), { ...limits, graceMs: 200 })
    expect(stdout).toBe('done\n')
    expect(isAlive(await sleeperIn(file))).toBe(false)
  })

  test('a daemon that left the group and keeps the pipes open does not delay the caller', async () => {
    const file = join(folder, 'daemon')
    const daemon = 'setsid sh -c \'echo $$ > "$0"; exec sleep 300\' "$1" & while [ ! -s "$1" ]; do sleep 0.05; done; echo done'
    const { stdout } = await run(sh(daemon, file), limits)
    expect(stdout).toBe('done\n')
    process.kill(await sleeperIn(file), 'SIGKILL')
  })

  test('the exit of the control plane ends its commands', async () => {
    const file = join(folder, 'exiting')
    const program = `
      import { createRunCommand } from ${JSON.stringify(fileURLToPath(new URL('./run-command.ts', import.meta.url)))}
      import { readFileSync } from 'node:fs'
      const [file] = process.argv.slice(-1)
      const args = ['-c', 'echo $$ > "$0"; exec sleep 300', file]
      void createRunCommand(process.env)({ program: 'sh', args }, { timeoutMs: 60000, maxOutputBytes: 10 })
      setInterval(() => { try { if (readFileSync(file, 'utf8').trim()) process.exit(0) } catch {} }, 10)`
    await run({ program: process.execPath, args: ['--input-type=module', '--eval', program, '--', file] }, limits)
    const pid = await sleeperIn(file)
    while (isAlive(pid)) await delay(10)
  })

  test('an aborted signal starts nothing', async () => {
    const file = join(folder, 'never')
    await expect(run(sh('echo x > "$1"', file), { ...limits, abort: AbortSignal.abort() })).rejects.toBeInstanceOf(CommandAborted)
    await expect(readFile(file)).rejects.toThrow()
  })
})

/** A zombie that waits to be reaped by init is dead. */
function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z')
  } catch {
    return false
  }
}
