// npm run up: installs, builds, starts. Plain JavaScript for the machine's own Node, on a clone where nothing was ever installed.
import { canBeBuilt, isFresh, targets } from './build/targets.mjs'
import { install } from './install.mjs'
import { bundledNode, endBy, root, runProgram } from './programs.mjs'

try {
  await install()
  await buildIfNeeded()
} catch (error) {
  console.error(`berth cannot start: ${error.message}`)
  process.exit(1)
}

// The launcher finds the right Node, passes signals on and ends with the service's own exit code.
const launcher = `${root}/packages/cli/bin/berth.js`
process.argv.splice(1, process.argv.length, launcher, 'up', ...process.argv.slice(2))
await import(launcher)

async function buildIfNeeded() {
  if (targets.every((target) => !canBeBuilt(target) || isFresh(target))) return
  console.log('building…')
  const { code, interrupted } = await runProgram(bundledNode(), [`${root}/scripts/build.mjs`])
  if (interrupted) await endBy(interrupted)
  if (code !== 0) process.exit(code)
}
