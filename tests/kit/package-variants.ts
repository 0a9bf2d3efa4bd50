import { execFile } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const clone = join(import.meta.dirname, '..', '..')

/** The package of this clone, from which other versions are made without building again. */
export interface Packed {
  version: string
  file: string
  /** Makes the same package with another version number; its command line runs `code` first. Returns the path of the package. */
  variant(version: string, code?: string): Promise<string>
  /** Installs the package of the clone as `npm install -g` does. Returns its launcher. */
  install(): Promise<string>
}

export async function packClone(folder: string): Promise<Packed> {
  await run(process.execPath, [join(clone, 'scripts', 'pack.mjs')], { cwd: clone })
  const { version } = JSON.parse(await readFile(join(clone, 'packages', 'server', 'package.json'), 'utf8'))
  const file = join(folder, `berth-${version}.tgz`)
  await cp(join(clone, 'dist', `berth-${version}.tgz`), file)
  const unpacked = join(folder, 'unpacked')
  mkdirSync(unpacked)
  await run('tar', ['--extract', `--file=${file}`, `--directory=${unpacked}`])
  return {
    version,
    file,
    async variant(other, code = '') {
      const path = join(folder, `variant-${other}`)
      await cp(unpacked, path, { recursive: true })
      replaceVersion(join(path, 'package'), version, other)
      const main = join(path, 'package', 'packages', 'cli', 'dist', 'main.js')
      await writeFile(main, `${code}\n${await readFile(main, 'utf8')}`)
      const packed = join(folder, `berth-${other}.tgz`)
      await run('tar', ['--create', '--gzip', `--file=${packed}`, `--directory=${path}`, 'package'])
      return packed
    },
    async install() {
      const prefix = join(folder, 'prefix')
      const options = ['--prefix', prefix, '--omit=optional', '--offline', '--no-audit', '--no-fund']
      await run('npm', ['install', '-g', ...options, file], { cwd: folder, env: npmEnvironment(folder) })
      return join(prefix, 'lib', 'node_modules', '@berthhost', 'berth', 'packages', 'cli', 'bin', 'berth.js')
    },
  }
}

/** Variables with which npm calls no registry. */
export const npmEnvironment = (home: string) => ({
  PATH: [dirname(process.execPath), process.env.PATH].join(':'),
  HOME: home,
  npm_config_offline: 'true',
})

/** Replaces the version in the manifests and in the bundles, into which the build has inlined it. */
function replaceVersion(folder: string, from: string, to: string): void {
  const replace = (file: string, search: string, replacement: string) => {
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8')
    if (!text.includes(search)) return 0
    writeFileSync(path, text.replaceAll(search, replacement))
    return 1
  }
  for (const file of ['package.json', 'packages/server/package.json']) replace(file, `"version": "${from}"`, `"version": "${to}"`)
  for (const bundle of ['packages/cli/dist', 'packages/server/dist']) {
    const files = globSync(`${bundle}/**/*.js`, { cwd: folder })
    const count = files.reduce((total, file) => total + replace(file, `=\`${from}\``, `=\`${to}\``), 0)
    if (count === 0) throw new Error(`no file of ${bundle} holds the version ${from}`)
  }
}
