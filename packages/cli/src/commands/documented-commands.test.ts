import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { newProgram } from '../program.ts'
import { addCommands } from './commands.ts'
import { addUp } from './up.ts'

const root = join(import.meta.dirname, '..', '..', '..', '..')
const sourcesOf = (pattern: string) => globSync(pattern, { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'))

/** Tests that put the words of a command together from parts, by command. */
const runBy: Record<string, string> = {
  'cron add': 'tests/e2e/scheduled-tasks.test.ts',
  'cron list': 'tests/e2e/scheduled-tasks.test.ts',
  'cron logs': 'tests/e2e/scheduled-tasks.test.ts',
  'cron run': 'tests/e2e/scheduled-tasks.test.ts',
  'domains list': 'packages/cli/src/commands/domains.test.ts',
  'domains verify': 'packages/cli/src/commands/domains.test.ts',
  'hooks add': 'packages/cli/src/commands/hooks.test.ts',
}

/** Commands that no test runs, with the reason. */
const notRun: Record<string, string> = {
  'account password': 'it reads both passwords from a terminal; the API tests of accounts change a password',
  'admin reset': 'it reads the password from a terminal; the tests of accounts call what it calls',
  'cloud link': 'it needs an account in a cloud with https; the end-to-end tests of the cloud link over the API',
  'service install': 'it needs systemd and root; unit.test.ts of the command checks the unit that it writes',
  'service logs': 'it reads the journal of systemd',
}

interface Documented {
  page: string
  line: string
}

/** The lines of fenced blocks that start with `berth` or `npx berth`; a line that ends with a backslash continues. */
function documentedCommands(): Documented[] {
  return ['README.md', ...globSync('docs/*.md', { cwd: root })].flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8').replaceAll(/\\\n\s*/g, ' ')
    const blocks = [...text.matchAll(/^ *```(?:sh|console)\n([\s\S]*?)^ *```/gm)].map(([, block]) => block ?? '')
    return blocks.flatMap((block) =>
      [...block.matchAll(/^ *(?:\$ )?(?:[^|`]+\| )?(?:[A-Z_]+=\S+ )*(?:npx )?(berth(?: .*)?)$/gm)].map(([, line]) => ({
        page,
        line: line ?? '',
      })),
    )
  })
}

/** Splits a line of a shell into words; ends at a comment, a pipe or a redirection. */
function wordsOf(line: string): string[] {
  const words: string[] = []
  for (const [, single, double, plain] of line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)) {
    if (plain && /^(?:#.*|\||>{1,2}|<|&{1,2})$/.test(plain)) break
    words.push(single ?? double ?? plain ?? '')
  }
  // Ids need no instance to resolve them.
  return words.slice(1).map((word, at) => (isProjectName(words, at + 1) ? 'prj_aaaaaaaaaaaaaaaaaaaa' : word))
}

const isProjectName = (words: readonly string[], at: number): boolean =>
  words[at - 1] === '--project' || (words[at - 2] === '--project' && words[at] !== undefined && !words[at].startsWith('-'))

/** The program whose commands record that they would run. */
function recordingProgram(onRun: (command: Command) => void): Command {
  const program = newProgram()
  addUp(program)
  addCommands(program)
  const record = (command: Command) => {
    command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} })
    if (command.commands.length === 0 || command.registeredArguments.length > 0)
      command.action((...args: unknown[]) => onRun(args.at(-1) as Command))
    command.commands.forEach(record)
  }
  record(program)
  return program
}

const pathOf = (command: Command): string => (command.parent ? `${pathOf(command.parent)} ${command.name()}`.trim() : '')

async function commandOf(line: string): Promise<string> {
  let found = ''
  const program = recordingProgram((command) => {
    found = pathOf(command)
  })
  const words = wordsOf(line)
  if (words.length === 0 || words.includes('--help')) return '--help'
  await program.parseAsync(words, { from: 'user' })
  return found
}

const documented = documentedCommands()

test('a block with a command of berth is marked as sh or console, so that the other tests read it', () => {
  const unmarked = ['README.md', ...globSync('docs/*.md', { cwd: root })].flatMap((page) => {
    const blocks = [...readFileSync(join(root, page), 'utf8').matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)]
    const isCommand = (block = '') => /^ *(?:\$ )?(?:[^|`]+\| )?(?:[A-Z_]+=\S+ )*(?:npx )?berth /m.test(block)
    return blocks.flatMap(([, language = '', block]) =>
      isCommand(block) && !['sh', 'console', 'text'].includes(language) ? [`${page}: ${block?.trim().split('\n')[0]}`] : [],
    )
  })
  expect(unmarked).toEqual([])
})

test.each(documented)('$page: $line', async ({ line }) => {
  expect(await commandOf(line)).not.toBe('')
})

test('no command has an option of its own that all commands have, such as --url', () => {
  const program = newProgram()
  addUp(program)
  addCommands(program)
  const common = program.options.map(({ long }) => long)
  const below = (command: Command): Command[] => command.commands.flatMap((one) => [one, ...below(one)])
  const repeated = below(program).flatMap((command) =>
    command.options.filter(({ long }) => common.includes(long)).map(({ long }) => `${pathOf(command)} ${long}`),
  )
  expect(repeated).toEqual([])
})

test.each(Object.entries(runBy))('%s is run by %s', (path, file) => {
  const [group, name] = path.split(' ')
  const text = readFileSync(join(root, file), 'utf8')
  expect(text).toMatch(new RegExp(`'${group}', \\.\\.\\.\\w+`))
  expect(text).toMatch(new RegExp(`\\b(?:run|berth)\\(\\[?'${name}'|'${group}',\\s+'${name}'`))
})

test('every command of README and docs is run by a test, or named here with the reason', async () => {
  const tests = sourcesOf('{tests/e2e,tests/kit,packages/cli/src,packages/server/tests,scripts/transcript}/**/*.ts').join('\n')
  const paths = new Set(await Promise.all(documented.map(({ line }) => commandOf(line))))
  const isRun = (path: string) => tests.includes(`'${path.split(' ').join("', '")}'`) || path === '--help'
  expect([...paths].filter((path) => !isRun(path)).sort()).toEqual([...Object.keys(runBy), ...Object.keys(notRun)].sort())
})
