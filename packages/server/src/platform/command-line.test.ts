import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRunCommand } from '../drivers/shell/run-command.ts'
import { parseCommandLine } from './command-line.ts'

describe('a command line is split into arguments', () => {
  test.each([
    ['npm run build', ['npm', 'run', 'build']],
    ["npm run build -- --flag 'a b'", ['npm', 'run', 'build', '--', '--flag', 'a b']],
    ['  node\t"my server.js"  ', ['node', 'my server.js']],
    ['echo a\\ b \\$HOME \\"', ['echo', 'a b', '$HOME', '"']],
    [`echo '$HOME' '*' "it's" 'say "hi"'`, ['echo', '$HOME', '*', "it's", 'say "hi"']],
    ['echo "a\\"b" "a\\$b" "a\\nb" "a\\\\b"', ['echo', 'a"b', 'a$b', 'a\\nb', 'a\\b']],
    [`a'b'"c"d ''`, ['abcd', '']],
    ['gunicorn app:app --bind 0.0.0.0:3000 -e A=b', ['gunicorn', 'app:app', '--bind', '0.0.0.0:3000', '-e', 'A=b']],
    ['echo a#b a~b {a,b} a=b %x', ['echo', 'a#b', 'a~b', '{a,b}', 'a=b', '%x']],
    ['"A=b" c', ['A=b', 'c']],
    ['go \\\nbuild', ['go', 'build']],
    ['', []],
    [' \n ', []],
  ])('%j', (text, words) => {
    expect(parseCommandLine(text)).toEqual(words)
  })
})

describe('shell syntax is refused with the reason', () => {
  test.each([
    ['npm run build | tee log', 'pipe'],
    ['npm i && npm run build', 'chains'],
    ['sleep 1 & wait', 'chains'],
    ['a; b', 'several commands'],
    ['a\nb', 'several lines'],
    ['node x > out', 'redirects output'],
    ['node x 2>&1', 'redirects output'],
    ['node < in', 'redirects input'],
    ['node $FILE', 'variable'],
    ['node "$FILE"', 'variable'],
    ['echo "`id`"', 'substitution'],
    ['echo `id`', 'substitution'],
    ['(a)', 'subshell'],
    ['ls *.js', 'pattern'],
    ['ls a?', 'pattern'],
    ['ls [ab]', 'pattern'],
    ['ls ~/x', 'home'],
    ['ls # all', 'comment'],
    ['PORT=3000 node x', 'variable'],
    ['PORT="a b" node x', 'variable'],
    ['cd app', 'shell keyword or builtin'],
    ['export A', 'shell keyword or builtin'],
    ['! true', 'shell keyword or builtin'],
    ["echo 'open", 'not closed'],
    ['echo "open', 'not closed'],
    ['echo "open\\', 'not closed'],
    ['echo \\', 'backslash'],
  ])('%j', (text, reason) => {
    expect(parseCommandLine(text)).toEqual({ needsShell: expect.stringContaining(reason) })
  })
})

test('the arguments equal those of a real shell', async () => {
  const character = fc.constantFrom(...'ab =\'"\\#~{}!%-.,:|&;<>()$`*?[]\t\n')
  const texts = fc.sample(fc.string({ unit: character, maxLength: 12 }), { numRuns: 3000, seed: 7 })
  const plain = texts.flatMap((text) => {
    const words = parseCommandLine(`program ${text}`)
    return 'needsShell' in words ? [] : [{ text: text.trim(), words: words.slice(1) }]
  })
  expect(plain.length).toBeGreaterThan(300)
  const folder = await mkdtemp(join(tmpdir(), 'berth-words-'))
  try {
    const script = plain.map(({ text }) => `set -- program ${text}\nprintf '%s\\0' "$#" "$@"\n`).join('')
    const run = createRunCommand(process.env)
    const { stdout } = await run(
      { program: 'sh', args: ['-s'], cwd: folder },
      { timeoutMs: 60_000, maxOutputBytes: 1e6, input: script },
    )
    const expected = plain.map(({ words }) => [String(words.length + 1), 'program', ...words].map((word) => `${word}\0`).join(''))
    expect(stdout).toBe(expected.join(''))
  } finally {
    await rm(folder, { recursive: true })
  }
})
