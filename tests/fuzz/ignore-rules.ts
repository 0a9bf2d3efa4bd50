import { dockerIgnore } from '../../packages/server/src/source/ignore/docker-ignore.ts'
import { IgnoreRules } from '../../packages/server/src/source/ignore/git-ignore.ts'
import type { Random } from './random.ts'
import { type Fuzzed, fuzzByHand } from './runner.ts'
import { hostileText } from './texts.ts'

interface Requested {
  rules: string
  path: string
}

const pieces = [
  'a',
  'b',
  '/',
  '*',
  '**',
  '**/',
  '/**',
  '?',
  '!',
  '#',
  '\\',
  '[',
  ']',
  '[a-b]',
  '[!a]',
  '[^b',
  ' ',
  '\n',
  '.',
  '..',
  '[[:alpha:]]',
]
const names = ['a', 'b', 'ab', 'aaaaaaaaaaaaaaaaaaaaaaaa', '.a', '[', '*', 'a b', '💥']

const make = (random: Random): Requested => ({
  rules: hostileText(random, pieces),
  path: [random.pick(names), ...random.some(6, () => random.pick(names))].join('/'),
})

/** The rules of a line say the same alone, with an empty line or a comment before it, and at the end of windows' lines. */
function saysTheSame(request: (rules: string) => unknown, rules: string): void {
  const first = JSON.stringify(request(rules))
  for (const other of [`\n\n# a comment\n${rules.replace(/^\uFEFF/, '')}`, rules])
    if (JSON.stringify(request(other)) !== first) throw new Error(`${JSON.stringify(other)} says something else: ${first}`)
}

export const kinds: Fuzzed[] = [
  {
    name: 'gitignore',
    make,
    check: ({ rules, path }: Requested) =>
      saysTheSame((text) => [true, false].map((isFolder) => IgnoreRules.none.with(text, '').verdict(path, isFolder)), rules),
    slowMs: 1_500,
  },
  {
    name: 'dockerignore',
    make,
    check: ({ rules, path }: Requested) => {
      saysTheSame((text) => dockerIgnore(text)(path, false), rules)
      // Content of an excluded folder is excluded, unless a rule includes it again.
      const isIgnored = dockerIgnore(rules.replaceAll('!', ''))
      if (isIgnored(path, true) && !isIgnored(`${path}/inside`, false))
        throw new Error('a folder is excluded and its content is not')
    },
    slowMs: 1_500,
  },
] as Fuzzed[]

if (import.meta.main) await fuzzByHand('ignore-rules', kinds)
