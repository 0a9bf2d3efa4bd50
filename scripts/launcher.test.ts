import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { isAlive, startDaemon } from '../tests/kit/daemon.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'

const launchers = join(import.meta.dirname, '..', 'packages', 'cli', 'bin')

/** A service that prints its pid and Node version, and ends on SIGTERM with its own exit code. */
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
const run = async (node: string, args: string[], env: NodeJS.ProcessEnv = process.env) => {
  const child = spawn(node, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const [code, signal] = await once(child, 'close')
  return { code, signal, said: output }
}

test('on Node 24 or newer the program runs in the process of the launcher', async () => {
  await using location = await clone()
  await using daemon = await startDaemon({ program: process.execPath, args: [location.berth, 'a', 'b c'], ready: /up/ })
  expect(daemon.output()).toBe(`up ${daemon.pid} ${process.version} a b c\n`)
})

test('without a build the error names npm run build', async () => {
  await using location = await clone({ program: '' })
  expect(await run(process.execPath, [location.berth])).toMatchObject({ code: 1, said: expect.stringContaining('npm run build') })
})

describe('an upgraded version in the data folder', () => {
  /** A package of this version, and versions that `berth upgrade` installed. */
  async function upgraded(installed: object, pointer: object | null, versions: string[]) {
    const location = await clone()
    await writeFile(join(location.path, 'package.json'), JSON.stringify(installed))
    const data = join(location.path, 'data')
    for (const version of versions) {
      const target = join(data, 'versions', version, 'node_modules', '@berthhost', 'berth')
      for (const part of ['bin', 'dist']) await mkdir(join(target, 'packages', 'cli', part), { recursive: true })
      await cp(launchers, join(target, 'packages', 'cli', 'bin'), { recursive: true })
      await writeFile(join(target, 'package.json'), `{"type":"module","version":"${version}"}`)
      const program = `console.log('${version}', process.argv.slice(2).join(' '), process.env.BERTH_LAUNCHER ?? 'none')`
      await writeFile(join(target, 'packages', 'cli', 'dist', 'main.js'), program)
    }
    if (pointer) await writeFile(join(data, 'versions', 'current.json'), JSON.stringify(pointer))
    await writeFile(join(location.path, 'packages', 'cli', 'dist', 'main.js'), `console.log('installed')`)
    const env = { PATH: process.env.PATH ?? '', HOME: location.path, BERTH_DATA_DIR: data }
    return { ...location, said: async (node = process.execPath) => (await run(node, [location.berth, 'up', '--json'], env)).said }
  }
  const pointer = { version: '1.2.0', installed: '1.0.0' }

  test('runs instead of the installed package, and gets the path of its launcher', async () => {
    await using location = await upgraded({ version: '1.0.0' }, pointer, ['1.2.0'])
    expect(await location.said()).toBe(`1.2.0 up --json ${location.berth}\n`)
    if (oldNode) expect(await location.said(oldNode)).toBe(`1.2.0 up --json ${location.berth}\n`)
  })

  test.each([
    ['no version is pointed to', { version: '1.0.0' }, null],
    ['the version is missing', { version: '1.0.0' }, { ...pointer, version: '1.3.0' }],
    ['the pointer names no version', { version: '1.0.0' }, { ...pointer, version: '../1.2.0' }],
    ['a newer package was installed after the upgrade', { version: '1.10.0' }, pointer],
    ['the launcher is in a clone', { version: '1.0.0', private: true }, pointer],
  ])('does not run if %s', async (_, installed, pointed) => {
    await using location = await upgraded(installed, pointed, ['1.2.0'])
    expect(await location.said()).toBe('installed\n')
  })

  test('runs if the package is newer but the upgrade deliberately returned to an older version', async () => {
    await using location = await upgraded({ version: '1.5.0' }, { version: '1.2.0', installed: '1.5.0' }, ['1.2.0'])
    expect(await location.said()).toContain('1.2.0')
  })
})

describe.skipIf(!oldNode)(`on an old Node${oldNode ? '' : ' (skipped: there is none on this machine)'}`, () => {
  const start = async (location: { berth: string }) => {
    const daemon = await startDaemon({ program: oldNode!, args: [location.berth, 'up'], ready: /up \d+/ })
    return { daemon, pid: Number(/up (\d+)/.exec(daemon.output())![1]) }
  }

  test('the program runs on the bundled Node, and the launcher exits with its exit code', async () => {
    await using location = await clone()
    const { daemon, pid } = await start(location)
    expect(daemon.output()).toContain(`up ${pid} ${process.version} up`)
    expect(pid).not.toBe(daemon.pid)
    daemon.signal('SIGTERM')
    expect(await daemon.ended()).toEqual({ code: 7, signal: null })
    expect(isAlive(pid)).toBe(false)
    await daemon.stop()
  })

  test('the launcher ends by the same signal as the program', async () => {
    await using location = await clone({ program: `process.kill(process.pid, 'SIGABRT')` })
    expect(await run(oldNode!, [location.berth])).toMatchObject({ code: null, signal: 'SIGABRT' })
  })

  test('the program ends if its launcher is killed with SIGKILL', async () => {
    await using location = await clone()
    const { daemon, pid } = await start(location)
    daemon.signal('SIGKILL')
    await daemon.ended()
    for (let tries = 0; tries < 100 && isAlive(pid); tries++) await pause(50)
    expect(isAlive(pid)).toBe(false)
    await daemon.stop()
  })

  test('without a newer Node the error is one line', async () => {
    await using location = await clone({ bundled: false })
    const { code, said: output } = await run(oldNode!, [location.berth])
    expect(code).toBe(1)
    expect(output).toMatch(/^Berth needs Node 24 or newer; this is v\d+\.\d+\.\d+ and no newer one was found\n$/)
  })

  test('a linked Node that is too old itself is an error and no endless restart', async () => {
    await using location = await clone({ bundled: false })
    await symlink(oldNode!, join(location.path, 'node_modules', '.bin', 'node'))
    expect(await run(oldNode!, [location.berth])).toMatchObject({ code: 1, said: expect.stringContaining('needs Node 24') })
  })
})
