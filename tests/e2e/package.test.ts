import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startDaemon } from '../kit/daemon.ts'
import { freePorts } from '../kit/free-port.ts'
import { tempFolder } from '../kit/temp-folder.ts'

const clone = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)

/** Packages and modules that would be loaded from outside the package: none may be left. */
async function importsOutside(folder: string): Promise<string[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.js'))
  const found = await Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8')
      return [...text.matchAll(/^(?:import|export)\b[^;]*?\bfrom *["'`]([^"'`]+)["'`]/gm)].map((match) => match[1] as string)
    }),
  )
  return found.flat().filter((source) => !/^(?:node:|\.)/.test(source))
}

test('the package installs without a clone, a build or another package, and serves and deploys from an empty folder', async () => {
  await run(process.execPath, [join(clone, 'scripts', 'pack.mjs')], { cwd: clone })
  const { version } = JSON.parse(await readFile(join(clone, 'packages', 'server', 'package.json'), 'utf8'))
  await using folder = await tempFolder('package')
  const home = join(folder.path, 'home')
  const empty = join(folder.path, 'empty')
  for (const path of [home, empty]) await mkdir(path)
  const env = { PATH: [dirname(process.execPath), process.env.PATH].join(':'), HOME: home, XDG_CONFIG_HOME: home }
  const prefix = join(folder.path, 'prefix')
  // Its one optional dependency is Node 24, which this test runs on. `--offline`: a request to the registry fails.
  const options = ['--prefix', prefix, '--omit=optional', '--offline', '--no-audit', '--no-fund']
  await run('npm', ['install', '-g', ...options, join(clone, 'dist', `berth-${version}.tgz`)], { cwd: empty, env })
  expect(await readdir(join(prefix, 'lib', 'node_modules'))).toEqual(['@berthhost'])
  const installed = join(prefix, 'lib', 'node_modules', '@berthhost', 'berth', 'packages')
  expect(await importsOutside(join(installed, 'cli'))).toEqual([])
  expect(await importsOutside(join(installed, 'server'))).toEqual([])

  const berth = join(prefix, 'bin', 'berth')
  const [port, edgePort] = await freePorts(2)
  const settings = {
    BERTH_RUNTIME: 'process',
    BERTH_PORT: String(port),
    BERTH_EDGE_PORT: String(edgePort),
    BERTH_LOG_LEVEL: 'warn',
  }
  await using daemon = await startDaemon({
    program: berth,
    args: ['up'],
    cwd: empty,
    env: { ...env, ...settings },
    ready: /^ready$/m,
  })
  const url = `http://127.0.0.1:${port}`
  expect(await (await fetch(`${url}/api/health`)).json()).toMatchObject({ data: { status: 'ok', version } })
  expect(await (await fetch(url)).text()).toContain('<!doctype html>')

  const cli = async (args: string[], input = '') => {
    const child = run(berth, args, { cwd: empty, env })
    child.child.stdin?.end(input)
    return (await child).stdout
  }
  const link = /set up \(once\)\s+(\S+)/.exec(daemon.output())?.[1] as string
  await cli(
    ['login', '--setup', link, '--email', 'new@example.test', '--password-stdin', '--organization', 'Home'],
    'correct horse',
  )
  const site = join(clone, 'examples', 'static')
  await cp(join(site, 'index.html'), join(empty, 'index.html'))
  const deployed = await cli(['deploy', '--name', 'Packed'])
  expect(deployed).toContain(`http://packed.localhost:${edgePort}`)
  const { status, text } = await getPage(edgePort as number, 'packed.localhost')
  expect({ status, text }).toEqual({ status: 200, text: await readFile(join(site, 'index.html'), 'utf8') })
})

function getPage(port: number, host: string): Promise<{ status?: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, headers: { host } }, async (answer) => {
      resolve({ status: answer.statusCode, text: Buffer.concat(await answer.toArray()).toString() })
    })
    asked.on('error', reject).end()
  })
}
