// npm run build: builds each target whose sources have changed since its last build; with --force every target.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { canBeBuilt, distFolder, isFresh, sourcesHash, stampFile, targets } from './build/targets.mjs'
import { install } from './install.mjs'
import { bundledNode, endBy, root, runProgram, secondsSince } from './programs.mjs'

const force = process.argv.includes('--force')

try {
  await install()
  if (Number.parseInt(process.versions.node, 10) < 24) await buildWithBundledNode()
  else for (const target of targets) await buildTarget(target)
} catch (error) {
  console.error(`the build failed: ${error.message}`)
  process.exitCode = 1
}

async function buildWithBundledNode() {
  const { code, interrupted } = await runProgram(bundledNode(), [fileURLToPath(import.meta.url), ...process.argv.slice(2)])
  if (interrupted) await endBy(interrupted)
  process.exitCode = code
}

async function buildTarget(target) {
  if (!canBeBuilt(target)) return console.log(`${target.name}: nothing to build, ${target.entries.main} does not exist`)
  if (!force && isFresh(target)) return
  const start = performance.now()
  // The hash is taken first: a source that changes during the build makes the result stale, not wrongly fresh.
  const hash = sourcesHash(target)
  const fresh = join(root, 'node_modules', '.cache', 'berth-build', `${target.name}-${process.pid}`)
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { recursive: true })
  try {
    if (target.name === 'dashboard') await (await import('./build/dashboard.mjs')).buildDashboard(target, fresh)
    else await (await import('./build/bundle.mjs')).bundle(target, fresh)
    if (target.name === 'server') await (await import('./build/check-templates.mjs')).checkTemplates()
    writeFileSync(stampFile(fresh), hash)
    swap(fresh, distFolder(target))
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
  console.log(`built ${target.name} in ${secondsSince(start)}`)
}

/**
 * Replaces the dist folder once the build is complete, so that an interrupted build leaves the old one. An interruption between the
 * two renames leaves no dist: the next run then builds again.
 */
function swap(fresh, dist) {
  const old = `${fresh}-old`
  try {
    renameSync(dist, old)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  renameSync(fresh, dist)
  rmSync(old, { recursive: true, force: true })
}
