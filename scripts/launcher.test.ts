import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { isAlive, startDaemon } from '../tests/kit/daemon.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'

const launchers = join(import.meta.dirname, '..', 'packages', 'cli', 'bin')

/** A service that tells its pid and Node, and ends on SIGTERM with a code of its own. */
const service = `process.on('SIGTERM', () => process.exit(7))
console.log(\`up \${process.pid} \${process.version} \${process.argv.slice(2).join(' ')}\`)
setInterval(() => {}, 999)`

/** A clone in small: the launcher, a built program, and the bundled Node where npm links it. */
async function clone({ program = service, bundled = true } = {}) {
  const folder = await tempFolder('launcher')
  const bin = join(folder.path, 'packages', 'cli', 'bin')
  await mkdir(bin, { recursive: true })
  await cp(launchers, bin, { recursive: true })
  await writeFile(join(folder.path, 'packages', 'cli', 'package.json'), '{"type":"module"}')
  await mkdir(join(folder.path, 'packages', 'cli', 'dist'))
  if (program) await writeFile(join(folder.path, 'packages', 'cli', 'dist', 'main.js'), program)
  await mkdir(join(folder.path, 'node_modules', '.bin'), { recursive: true })
  if (bundled) await symlink(process.execPath, join(folder.path, 'node_modules', '.bin', 'node'))
  return { ...folder, berth: join(bin, 'berth.js') }
}

/** A Node of the machine that is too old for Berth, as fresh machines have it. */
const oldNode = ['/usr/bin/node', '/usr/local/bin/node'].find((path) => {
  const { stdout } = spawnSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' })
  return stdout && Number.parseInt(stdout, 10) < 24
})
const run = async (node: string, args: string[]) => {
  const child = spawn(node, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const [code, signal] = await once(child, 'close')
  return { code, signal, said: output }
}

test('on a new enough Node the program runs in the launcher’s own process', async () => {
  await using location = await clone()
  await using daemon = await startDaemon({ program: process.execPath, args: [location.berth, 'a', 'b c'], ready: /up/ })
  expect(daemon.output()).toBe(`up ${daemon.pid} ${process.version} a b c\n`)
})

test('without a build it says what to do', async () => {
  await using location = await clone({ program: '' })
  expect(await run(process.execPath, [location.berth])).toMatchObject({ code: 1, said: expect.stringContaining('npm run build') })
})

describe.skipIf(!oldNode)(`on an old Node${oldNode ? '' : ' (skipped: there is none on this machine)'}`, () => {
  const start = async (location: { berth: string }) => {
    const daemon = await startDaemon({ program: oldNode!, args: [location.berth, 'up'], ready: /up \d+/ })
    return { daemon, pid: Number(/up (\d+)/.exec(daemon.output())![1]) }
  }

  test('the program runs on the bundled one, and its exit code is the launcher’s', async () => {
    await using location = await clone()
    const { daemon, pid } = await start(location)
    expect(daemon.output()).toContain(`up ${pid} ${process.version} up`)
    expect(pid).not.toBe(daemon.pid)
    daemon.signal('SIGTERM')
    expect(await daemon.ended()).toEqual({ code: 7, signal: null })
    expect(isAlive(pid)).toBe(false)
    await daemon.stop()
  })

  test('a program that dies by a signal takes the launcher along by the same one', async () => {
    await using location = await clone({ program: `process.kill(process.pid, 'SIGABRT')` })
    expect(await run(oldNode!, [location.berth])).toMatchObject({ code: null, signal: 'SIGABRT' })
  })

  test('the program ends when its launcher is killed with SIGKILL', async () => {
    await using location = await clone()
    const { daemon, pid } = await start(location)
    daemon.signal('SIGKILL')
    await daemon.ended()
    for (let tries = 0; tries < 100 && isAlive(pid); tries++) await pause(50)
    expect(isAlive(pid)).toBe(false)
    await daemon.stop()
  })

  test('without any newer one it says so in one line', async () => {
    await using location = await clone({ bundled: false })
    const { code, said: output } = await run(oldNode!, [location.berth])
    expect(code).toBe(1)
    expect(output).toMatch(/^Berth needs Node 24 or newer; this is v\d+\.\d+\.\d+ and no newer one was found\n$/)
  })

  test('a linked Node that is too old itself does not start for ever', async () => {
    await using location = await clone({ bundled: false })
    await symlink(oldNode!, join(location.path, 'node_modules', '.bin', 'node'))
    expect(await run(oldNode!, [location.berth])).toMatchObject({ code: 1, said: expect.stringContaining('needs Node 24') })
  })
})
