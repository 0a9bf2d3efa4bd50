import { expect, test } from 'vitest'
import { crashText } from './crash-text.ts'

const ended = (exitCode: number | null, more: object = {}) => ({ exitCode, outOfMemory: false, ...more })
const unit = { command: null, entrypoint: null, build: null, exposed: true, restart: true }

test.each([
  ['what it wrote last says the rest', ended(1), unit, ['boom'], /^It exited with code 1 before it was healthy$/],
  [
    'silent: the exit code and what to do',
    ended(1),
    unit,
    ['', ' '],
    /exited with code 1 before it was healthy, and printed nothing\. Run its start command/,
  ],
  ['silent and content', ended(0), unit, [], /code 0 .*, and printed nothing\. .*keeps running in the foreground/],
  ['127: the command that its shell named', ended(127), unit, ['/bin/sh: 1: gunicorn: not found'], /`gunicorn` does not exist/],
  [
    '127, silent: the command that it was to run',
    ended(127),
    { ...unit, command: ['sh', '-c', 'serve --all'] },
    [],
    /`serve` does not exist/,
  ],
  ['127: of an entrypoint', ended(127), { ...unit, entrypoint: ['/entry', 'x'], command: ['y'] }, [], /`\/entry` does not exist/],
  ['127: of its image', ended(127, { program: 'serve-all' }), unit, [], /`serve-all` does not exist/],
  ['126: it is there and no program', ended(126), { ...unit, command: ['./run.sh'] }, [], /`\.\/run\.sh` cannot be executed/],
  ['its memory comes first', ended(137, { outOfMemory: true }), unit, [], /exceeded its memory limit/],
])('%s', (_, instance, of, lines, text) => {
  expect(crashText('It', instance, of, lines)).toMatch(text)
})
