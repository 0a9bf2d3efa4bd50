import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** The descriptors of a child process before and after the call, with number 100 open on `file`. */
function descriptors(file: string, certificates?: string): { before: unknown[]; after: number[] } {
  const module = new URL('./close-inherited.ts', import.meta.url).href
  const listing = `const { spawnSync } = require('node:child_process')
    const list = () => spawnSync('/bin/sh', ['-c', 'ls /proc/$$/fd'], { encoding: 'utf8' }).stdout.trim().split('\\n').map(Number).filter((fd) => fd > 2 && fd < 200)
    const before = list()
    import(${JSON.stringify(module)}).then(({ closeInherited }) => { closeInherited(${JSON.stringify(certificates ?? '')}); console.log(JSON.stringify({ before, after: list() })) })`
  // Node takes care of the first few numbers by itself.
  const words = ['-c', `exec 100<${file}; exec "$@"`, 'bash', process.execPath, '-e', listing]
  const { stdout, stderr } = spawnSync('bash', words, { encoding: 'utf8' })
  return JSON.parse(stdout || JSON.stringify({ before: [stderr] }))
}

test('child processes inherit no file descriptors', () => {
  expect(descriptors('/dev/null')).toEqual({ before: [100], after: [] })
})

test('the file of additional certificates stays open, since a thread of Node may be reading it', () => {
  expect(descriptors('/etc/passwd', '/etc/passwd')).toEqual({ before: [100], after: [100] })
  expect(descriptors('/etc/passwd', '/etc/hosts')).toEqual({ before: [100], after: [] })
})
