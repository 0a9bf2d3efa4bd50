import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('child processes inherit no file descriptors', () => {
  const module = new URL('./close-inherited.ts', import.meta.url).href
  const listing = `const { spawnSync } = require('node:child_process')
    const list = () => spawnSync('/bin/sh', ['-c', 'ls /proc/$$/fd'], { encoding: 'utf8' }).stdout.trim().split('\\n').map(Number).filter((fd) => fd > 2 && fd < 200)
    const before = list()
    import(${JSON.stringify(module)}).then(({ closeInherited }) => { closeInherited(); console.log(JSON.stringify({ before, after: list() })) })`
  // Node takes care of the first few numbers by itself.
  const words = ['-c', 'exec 100</dev/null; exec "$@"', 'bash', process.execPath, '-e', listing]
  const { stdout, stderr } = spawnSync('bash', words, { encoding: 'utf8' })
  const { before, after } = JSON.parse(stdout || JSON.stringify({ before: [stderr] })) as { before: number[]; after: number[] }
  expect([before, after]).toEqual([[100], []])
})
