import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRunCommand } from '../../drivers/shell/run-command.ts'
import { IgnoreRules } from './git-ignore.ts'

/** Checks a path the way a directory walk would: an ignored folder is not entered. */
function isIgnored(rules: IgnoreRules, path: string): boolean {
  const names = path.split('/')
  return names.some((_, index) => rules.verdict(names.slice(0, index + 1).join('/'), index + 1 < names.length) === 'ignored')
}

test.each([
  ['dist', ['dist/x', 'a/dist'], ['distx', 'a/xdist']],
  ['/dist', ['dist/x'], ['a/dist']],
  ['a/b', ['a/b', 'a/b/c'], ['x/a/b']],
  ['*.js', ['x.js', 'a/x.js'], ['x.jsx', 'js']],
  ['a/**', ['a/b', 'a/b/c'], ['a']],
  ['**/x', ['x', 'a/b/x'], ['ax']],
  ['a/**/z', ['a/z', 'a/b/c/z'], ['az', 'b/z']],
  ['[a-c]?', ['a1', 'x/c2'], ['d1', 'a']],
  ['[!a]b', ['xb'], ['ab']],
  ['\\#x', ['#x'], ['x']],
  ['# x', [], ['# x', 'x']],
  ['x\\ ', ['x '], ['x']],
  ['x  \r', ['x'], ['x  ']],
  ['*\n!a', ['b'], ['a']],
  ['', [], ['a']],
  ['/', [], ['a']],
])('%j', (text, ignored, kept) => {
  const rules = IgnoreRules.none.with(text, '')
  expect([...ignored, ...kept].filter((path) => isIgnored(rules, path))).toEqual(ignored)
})

test('no pattern takes exponential time', () => {
  const rules = IgnoreRules.none.with(`${'*a'.repeat(50)}\n${'**/a/'.repeat(30)}x`, '')
  expect(isIgnored(rules, `${'a/'.repeat(60)}${'a'.repeat(200)}b`)).toBe(false)
})

test('the result equals that of git', async () => {
  const mixed = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '[ab]'), minLength: 1, maxLength: 3 })
  const name = fc.oneof({ arbitrary: mixed.filter((text) => !text.includes('**')), weight: 4 }, fc.constant('**'))
  const line = fc
    .tuple(fc.constantFrom('', '!', '/'), fc.array(name, { minLength: 1, maxLength: 3 }), fc.constantFrom('', '/'))
    .map(([start, names, end]) => `${start}${names.join('/')}${end}`)
  const samples = fc.sample(fc.array(line, { minLength: 1, maxLength: 3 }), { numRuns: 300, seed: 11 })
  const paths = ['a', 'b', 'ab', 'a/b', 'b/a', 'a/a/b', 'ab/a', 'a/b/ab/b', 'b/b/b', 'ba/ab/a']
  const folder = await mkdtemp(join(tmpdir(), 'berth-ignore-'))
  try {
    for (const [index, lines] of samples.entries()) {
      await mkdir(join(folder, `f${index}`))
      await writeFile(join(folder, `f${index}`, '.gitignore'), lines.join('\n'))
    }
    const all = samples.flatMap((_, index) => paths.map((path) => `f${index}/${path}`))
    const run = createRunCommand({ ...process.env, HOME: folder })
    const limits = { timeoutMs: 60_000, maxOutputBytes: 1e6, acceptExitCodes: [0, 1] }
    await run({ program: 'git', args: ['init', '-q'], cwd: folder }, limits)
    const check = { program: 'git', args: ['check-ignore', '--no-index', '--stdin'], cwd: folder }
    const { stdout } = await run(check, { ...limits, input: all.join('\n') })
    const ours = samples.flatMap((lines, index) => {
      const rules = IgnoreRules.none.with(lines.join('\n'), `f${index}`)
      return paths.filter((path) => isIgnored(rules, `f${index}/${path}`)).map((path) => `f${index}/${path}`)
    })
    expect(ours.length).toBeGreaterThan(100)
    expect(ours.map((path) => `${path} by ${samples[Number(path.split('/')[0]!.slice(1))]}`)).toEqual(
      stdout
        .trim()
        .split('\n')
        .map((path) => `${path} by ${samples[Number(path.split('/')[0]!.slice(1))]}`),
    )
  } finally {
    await rm(folder, { recursive: true })
  }
})
