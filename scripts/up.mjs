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

// The launcher takes this process's place where Node can do that; else it starts the bundled Node and passes signals on.
const launcher = `${root}/packages/cli/bin/berth.js`
const words = [launcher, 'up', ...process.argv.slice(2)]
if (Number.parseInt(process.versions.node, 10) >= 24 && process.execve) {
  process.execve(process.execPath, [process.execPath, ...words], process.env)
} else {
  process.argv.splice(1, process.argv.length, ...words)
  await import(launcher)
}

async function buildIfNeeded() {
  if (targets.every((target) => !canBeBuilt(target) || isFresh(target))) return
  console.log('building…')
  const { code, interrupted } = await runProgram(bundledNode(), [`${root}/scripts/build.mjs`])
  if (interrupted) await endBy(interrupted)
  if (code !== 0) process.exit(code)
}
