// npm run pack: leaves two packages in dist/ for `npm install -g`: a whole Berth, and the command line without the server.
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { canBeBuilt, isFresh, targets } from './build/targets.mjs'
import { install } from './install.mjs'
import { commandLineManifest, packageManifest } from './pack/manifest.mjs'
import { thirdPartyLicenses } from './pack/third-party-licenses.mjs'
import { bundledNode, endBy, root, runProgram } from './programs.mjs'

try {
  await install()
  await buildIfNeeded()
  await pack()
} catch (error) {
  console.error(`the package could not be made: ${error.message}`)
  process.exitCode = 1
}

async function buildIfNeeded() {
  if (targets.every((target) => !canBeBuilt(target) || isFresh(target))) return
  await run(bundledNode(), [`${root}/scripts/build.mjs`])
}

async function pack() {
  await packOne(packageManifest(), 'berth', writePackage)
  await packOne(commandLineManifest(), 'berth-cli', writeCommandLine)
}

async function packOne(manifest, fileName, write) {
  const folder = join(root, 'node_modules', '.cache', `berth-pack-${process.pid}`)
  const dist = join(root, 'dist')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  mkdirSync(dist, { recursive: true })
  try {
    cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
    writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), thirdPartyLicenses())
    write(folder)
    // npm orders the files and gives them a fixed time: the same sources make the same bytes.
    const output = await run('npm', ['pack', folder, '--ignore-scripts', '--json', '--pack-destination', folder], { quiet: true })
    const [{ filename, entryCount, unpackedSize }] = JSON.parse(output.slice(output.indexOf('[')))
    const file = join(dist, `${fileName}-${manifest.version}.tgz`)
    renameSync(join(folder, basename(filename)), file)
    const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`
    console.log(`${file}: ${manifest.name} ${manifest.version}, ${megabytes(statSync(file).size)}`)
    console.log(`${entryCount} files, ${megabytes(unpackedSize)} unpacked. Install it with: npm install -g ${file}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Copies the built product in the folder structure of a clone, since its programs find each other by relative paths. */
function writePackage(folder) {
  cpSync(join(root, 'README.md'), join(folder, 'README.md'))
  copyShipped(folder, [
    'packages/cli/bin',
    'packages/cli/dist',
    'packages/server/dist',
    'packages/server/templates',
    'packages/dashboard/dist',
  ])
  // The server finds its own folder by this name.
  const { name, version, type, exports } = JSON.parse(readFileSync(join(root, 'packages/server/package.json'), 'utf8'))
  const server = {
    name,
    version,
    private: true,
    type,
    exports: { '.': exports['.'].default, './package.json': './package.json' },
  }
  writeFileSync(join(folder, 'packages/server/package.json'), `${JSON.stringify(server, null, 2)}\n`)
}

function writeCommandLine(folder) {
  cpSync(join(root, 'packages/cli/README.md'), join(folder, 'README.md'))
  copyShipped(folder, ['packages/cli/bin', 'packages/cli/dist'])
}

function copyShipped(folder, paths) {
  for (const path of paths) cpSync(join(root, path), join(folder, path), { recursive: true, filter: isShipped })
}

/** Left out: source maps, which are two thirds of the size and not read at run time, declarations, and files of the build. */
function isShipped(path) {
  return !/\.map$|\.d\.ts$|^\.(?:sources|compile-cache)$/.test(basename(path))
}

async function run(program, args, options = {}) {
  const { code, interrupted, output } = await runProgram(program, args, options)
  if (interrupted) await endBy(interrupted)
  if (code !== 0) throw new Error(output || `${basename(program)} ${args[0]} failed with exit code ${code}`)
  return output
}
