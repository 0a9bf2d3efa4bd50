import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { table } from '@berth/contract'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { newProgram } from '../program.ts'
import { addCommands } from './commands.ts'
import { addUp } from './up.ts'

const root = join(import.meta.dirname, '..', '..', '..', '..')
const sourcesOf = (pattern: string) => globSync(pattern, { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'))
const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: root }).filter((page) => !page.startsWith('docs/decisions/'))]
const textOf = (page: string) => readFileSync(join(root, page), 'utf8')

/** Tests that put the words of a command together from parts, by command. */
const runBy: Record<string, string> = {
  'cron add': 'tests/e2e/scheduled-tasks.test.ts',
  'cron list': 'tests/e2e/scheduled-tasks.test.ts',
  'cron logs': 'tests/e2e/scheduled-tasks.test.ts',
  'cron remove': 'tests/e2e/scheduled-tasks.test.ts',
  'cron run': 'tests/e2e/scheduled-tasks.test.ts',
  'domains list': 'packages/cli/src/commands/domains.test.ts',
  'domains remove': 'packages/cli/src/commands/domains.test.ts',
  'domains verify': 'packages/cli/src/commands/domains.test.ts',
  'hooks add': 'packages/cli/src/commands/hooks.test.ts',
  'hooks list': 'packages/cli/src/commands/hooks.test.ts',
  'hooks remove': 'packages/cli/src/commands/hooks.test.ts',
}

/** Commands that no test runs, with the reason. */
const notRun: Record<string, string> = {
  'account password': 'it reads both passwords from a terminal; the API tests of accounts change a password',
  'admin reset': 'it reads the password from a terminal; the tests of accounts call what it calls',
  'service install': 'it needs systemd and root; unit.test.ts of the command checks the unit that it writes',
  'service logs': 'it reads the journal of systemd',
  'service restart': 'it needs systemd',
  'service uninstall': 'it needs systemd',
}

interface Documented {
  page: string
  line: string
}

const isBerth = /^(?:[^|`]+\| |[^&`]+&& )?(?:[A-Z_]+=(?:\$\([^)]*\)|\S+) )*(?:npx )?(berth(?: .*)?)$/

/** The lines of a shell in fenced blocks, without comment lines; a line that ends with a backslash continues. */
const shellLines: readonly Documented[] = pages.flatMap((page) => {
  const blocks = textOf(page)
    .replaceAll(/\\\n\s*/g, ' ')
    .matchAll(/^ *```(sh|console)\n([\s\S]*?)^ *```/gm)
  return [...blocks].flatMap(([, language, block = '']) => {
    const lines = block.split('\n').map((line) => line.trim())
    const typed = language === 'sh' ? lines : lines.flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []))
    return typed.filter((line) => line !== '' && !line.startsWith('#')).map((line) => ({ page, line }))
  })
})

/** The commands of berth in blocks. */
const documented = shellLines.flatMap(({ page, line }) => {
  const [, command] = isBerth.exec(line) ?? []
  return command === undefined ? [] : [{ page, line: command }]
})

/** The commands of berth within sentences and tables. `berth env list\|set` is two commands. */
const mentioned: readonly Documented[] = pages.flatMap((page) => {
  const prose = textOf(page).replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
  return [...prose.matchAll(/`(?:npx )?(berth [^`]+)`/g)].flatMap(([, span = '']) => {
    const [words = '', ...others] = span.replaceAll(/\s+/g, ' ').split('\\|')
    return [words, ...others.map((other) => words.replace(/\S+$/, other))].map((line) => ({ page, line }))
  })
})

/** Where commands of other programs are run: a test, or the reason why no test runs them. The key is the start of the line. */
const otherPrograms: Record<string, { test: string } | { reason: string }> = {
  'npm run up': { reason: 'it installs and builds, as the gate does, then it is berth up' },
  'npm test': { reason: 'it is the gate itself' },
  'npm run pack': { test: 'tests/e2e/package.test.ts' },
  'npm install -g ': { test: 'tests/e2e/package.test.ts' },
  'npm ci': { reason: 'the machine of the tests has the packages already; tests/e2e/package.test.ts installs without them' },
  'npm run build': { reason: 'the gate runs it before the end-to-end tests' },
  'npx node bench/': { reason: 'programs that measure are run by hand' },
  'age -d': { test: 'tests/e2e/backups.test.ts' },
  'for part in': { test: 'tests/e2e/backups.test.ts' },
  'jq -r': { test: 'tests/e2e/backups.test.ts' },
  'while read': { test: 'tests/e2e/backups.test.ts' },
  'docker compose': { reason: 'it needs Docker Compose; tests/e2e/container-image.test.ts builds and runs the image' },
  'cp -a ~/.berth': { test: 'packages/server/src/instance/moved-folder.test.ts' },
  'curl -s https://berth.example.com/api/projects/prj_unknown': { test: 'packages/server/tests/http-answers.test.ts' },
  'curl -s -H "Authorization: Bearer $BERTH_METRICS_TOKEN"': { test: 'tests/e2e/metrics.test.ts' },
  'curl -X POST https://berth.example.com/api/hooks/deploy/': { test: 'packages/server/tests/deployments/deploy-hooks.test.ts' },
  'curl -H "Authorization: Bearer $BERTH_TOKEN"': { test: 'packages/server/tests/http-answers.test.ts' },
  'curl -X PATCH -H "Authorization: Bearer $BERTH_TOKEN"': { test: 'packages/server/tests/http-answers.test.ts' },
  'curl -X POST -H "Authorization: Bearer bwh_…"': { test: 'packages/server/tests/backups/runs.test.ts' },
  'git push': { test: 'tests/e2e/push-to-live.test.ts' },
  'dig +short': { reason: 'it asks a public name server' },
  'cd ': { reason: 'the folder of the guide' },
  'apt install nginx-light': { reason: 'it changes the machine; scripts/test-machine installs the same package' },
  'systemctl disable --now nginx': { reason: 'it needs systemd' },
  'docker service': { reason: 'it needs the docker command; swarm-runtime.test.ts reads services by the same label' },
  'docker secret': { reason: 'it needs the docker command; swarm-runtime.test.ts reads secrets by the same label' },
  journalctl: { reason: 'it reads the journal of systemd' },
  'ssh-keygen': { test: 'tests/kit/sshd.ts' },
  'set -a;': { reason: 'a shell reads a file' },
  'export ': { reason: 'variables of the commands below' },
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

/** The command that a mention in a sentence names, with options that exist; '' if there is none. Arguments may be missing. */
function mentionedCommand(line: string): string {
  const program = newProgram()
  addUp(program)
  addCommands(program)
  const words = wordsOf(line.replaceAll(/[[\]]/g, ''))
  if (words[0] === '--version') return '--help'
  const named = (parent: Command, word = '') =>
    parent.commands.find((child) => child.name() === word || child.aliases().includes(word))
  let command = program
  let at = 0
  for (let next = named(program, words[0]); next; next = named(command, words[++at])) command = next
  const isGroup = command.commands.length > 0 && words[at] !== undefined
  const options = new Set([...program.options, ...command.options].flatMap(({ long, short }) => [long, short]))
  const end = words.indexOf('--')
  const used = words.slice(at, end < 0 ? undefined : end).filter((word) => word.startsWith('-'))
  return isGroup || used.some((word) => !options.has(word)) ? '' : pathOf(command)
}

test('a block with commands is marked as sh or console, so that the other tests read it', () => {
  const unmarked = pages.flatMap((page) => {
    const blocks = [...textOf(page).matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)]
    const isCommand = (block = '') =>
      /^ *(?:\$ )?(?:[^|`]+\| )?(?:[A-Z_]+=\S+ )*(?:npx )?(?:berth|age|curl|for|docker|npm|git) /m.test(block)
    return blocks.flatMap(([, language = '', block]) =>
      isCommand(block) && !['sh', 'console', 'text'].includes(language) ? [`${page}: ${block?.trim().split('\n')[0]}`] : [],
    )
  })
  expect(unmarked).toEqual([])
})

test.each(documented)('$page: $line', async ({ line }) => {
  expect(await commandOf(line)).not.toBe('')
})

test.each(mentioned)('$page mentions $line', ({ line }) => {
  expect(mentionedCommand(line)).not.toBe('')
})

test('every route that the docs mention exists', () => {
  const notInTable = ['GET /metrics', 'POST /webhooks/git/github', 'POST /berth']
  const known = new Set([
    ...notInTable,
    ...table.map(({ row: { method, path } }) => `${method} ${path.replaceAll(/:\w+/g, ':')}`),
  ])
  const unknown = pages.flatMap((page) =>
    [...textOf(page).matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (?:\/api)?(\/[\w:/…-]+)/g)].flatMap(([, method, path = '']) => {
      const route = `${method} ${path.replaceAll(/:\w+|\w+_…/g, ':')}`
      return known.has(route) ? [] : [`${page}: ${route}`]
    }),
  )
  expect(unknown).toEqual([])
})

test('every other command of README and docs is run by a test, or named here with the reason', () => {
  const isSetting = /^[A-Z_]+=[^ ]*(?: --zone \S+)?(?: *#.*)?$/
  const lines = shellLines.filter(({ line }) => !isBerth.test(line) && !isSetting.test(line))
  const starts = Object.keys(otherPrograms)
  expect(lines.filter(({ line }) => !starts.some((start) => line.startsWith(start)))).toEqual([])
  expect(starts.filter((start) => !lines.some(({ line }) => line.startsWith(start)))).toEqual([])
  const tests = Object.values(otherPrograms).flatMap((entry) => ('test' in entry ? [entry.test] : []))
  expect(tests.filter((file) => !existsSync(join(root, file)))).toEqual([])
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
  const inBlocks = await Promise.all(documented.map(({ line }) => commandOf(line)))
  const paths = new Set([...inBlocks, ...mentioned.map(({ line }) => mentionedCommand(line)).filter((path) => path !== '')])
  const isRun = (path: string) => tests.includes(`'${path.split(' ').join("', '")}'`) || path === '--help'
  expect([...paths].filter((path) => !isRun(path)).sort()).toEqual([...Object.keys(runBy), ...Object.keys(notRun)].sort())
})
