// The last green run of `npm run test:matrix`, in a committed file, so that its age is visible in every clone.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, runProgram } from '../programs.mjs'

const file = join(root, 'scripts', 'test', 'last-matrix.json')

export function lastMatrix() {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

export async function recordMatrix({ passed, skipped, seconds }) {
  const { output } = await runProgram('git', ['rev-parse', '--short', 'HEAD'], { quiet: true })
  const record = { endedAt: new Date().toISOString().slice(0, 16), commit: output.trim(), passed, skipped, seconds }
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`)
}
