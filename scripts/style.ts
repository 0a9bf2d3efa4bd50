// Counts wording, Markdown lines and table cells that CONTRIBUTING.md forbids. Fails when a count exceeds its ceiling in
// scripts/style-ceiling.json.
//   node scripts/style.ts             prints the counts and checks them; --list <name> prints every place of one count
//   node scripts/style.ts --update    lowers the ceiling to the counts; it never raises it
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const ceilingFile = join(root, 'scripts', 'style-ceiling.json')

const setOf = (list: string) => new Set(list.split(' '))
const prepositions = setOf(
  'above after against along among around as at before behind below beside besides between beyond by during except for from in ' +
    'inside instead into like near of off on onto outside over past per since through throughout till to toward towards under ' +
    'until upon via with within without',
)
const pronouns = setOf(
  'anybody he it its nobody nothing one ones she somebody something such that their them these they this those us we what ' +
    'whatever which whichever who whoever whom whomever whose you',
)
const vaguePerson = /\b(?:nobody|somebody|anybody|whoever|whomever)\b/i

export type Location = { line: number; text: string }
export type Counts = Record<(typeof countNames)[number], number>
const sourceCounts = ['prepositionOpenings', 'pronounOpenings', 'vaguePersonLines'] as const
const markdownCounts = ['longMarkdownLines', 'longTableCells', 'vaguePersonInMarkdown'] as const
const countNames = [...sourceCounts, ...markdownCounts] as const
const maxMarkdownColumns = 120
const maxCellSentences = 2

/** Finds the wording that each count is about in the text of one source file. */
export function findWording(source: string): Record<(typeof sourceCounts)[number], Location[]> {
  const openings = [...source.matchAll(/\/\*\*\s(.*?)\*\//gs)].map(({ index, 1: comment }) => {
    const text = comment!.replace(/^[\s*]+/, '')
    return { index, text, first: /^[A-Za-z]+/.exec(text)?.[0].toLowerCase() ?? '' }
  })
  const openingWith = (words: Set<string>) =>
    openings
      .filter(({ first }) => words.has(first))
      .map(({ index, text }) => ({ line: source.slice(0, index).split('\n').length, text: text.split('\n')[0]!.trim() }))
  return {
    prepositionOpenings: openingWith(prepositions),
    pronounOpenings: openingWith(pronouns),
    vaguePersonLines: source
      .split('\n')
      .map((text, index) => ({ line: index + 1, text: text.trim() }))
      .filter(({ text }) => vaguePerson.test(text)),
  }
}

/**
 * Finds the places of each count in one Markdown page. Code blocks are skipped; table rows and the addresses of links are not
 * measured in columns.
 */
export function findInMarkdown(page: string): Record<(typeof markdownCounts)[number], Location[]> {
  const longMarkdownLines: Location[] = []
  const longTableCells: Location[] = []
  const vaguePersonInMarkdown: Location[] = []
  let fence: string | undefined
  for (const [index, text] of page.split('\n').entries()) {
    const line = index + 1
    const marker = /^\s*(```+|~~~+)/.exec(text)?.[1]
    if (fence) {
      if (marker?.startsWith(fence)) fence = undefined
      continue
    }
    if (vaguePerson.test(text)) vaguePersonInMarkdown.push({ line, text })
    if (marker) fence = marker
    else if (/^\s*\|/.test(text))
      longTableCells.push(
        ...cellsOf(text)
          .filter(isLongCell)
          .map((cell) => ({ line, text: cell })),
      )
    else if (columnsOf(text) > maxMarkdownColumns) longMarkdownLines.push({ line, text })
  }
  return { longMarkdownLines, longTableCells, vaguePersonInMarkdown }
}

/** Splits a table row at its bars. An escaped bar belongs to the cell. */
const cellsOf = (row: string) => row.split(/(?<!\\)\|/).map((cell) => cell.trim())

/** Counts sentences by their last character. A dot inside a code span or a word, such as `compose.yaml`, ends none. */
const isLongCell = (cell: string) => {
  const prose = cell.replace(/`[^`]*`/g, 'code')
  return prose.split(/[.!?](?:\s|$)/).filter((sentence) => sentence.trim()).length > maxCellSentences
}

const columnsOf = (line: string) => [...line.replace(/\]\([^)]*\)/g, ']()').replace(/https?:\/\/[^\s)`]+/g, '')].length

const filesOf = (patterns: string[]) =>
  globSync(patterns, { cwd: root })
    .filter((file) => !/(?:^|\/)(?:fixtures|dist|node_modules)\//.test(file) && !file.startsWith('scripts/style.'))
    .sort()

const sourceFiles = () =>
  filesOf(['packages/*/src', 'packages/*/tests', 'tests', 'bench', 'scripts'].map((folder) => `${folder}/**/*.{ts,tsx,mjs}`))

const markdownFiles = () => filesOf(['*.md', ...['docs', 'changes', 'bench', 'packages/*'].map((folder) => `${folder}/**/*.md`)])

/** Finds the places of every count in every source file and Markdown page of the clone. */
export function findEverywhere() {
  const all = Object.fromEntries(countNames.map((name) => [name, [] as string[]]))
  const collect = (files: string[], find: (text: string) => Record<string, Location[]>) => {
    for (const file of files) {
      for (const [name, locations] of Object.entries(find(readFileSync(join(root, file), 'utf8')))) {
        all[name]!.push(...locations.map(({ line, text }) => `${file}:${line}: ${text}`))
      }
    }
  }
  collect(sourceFiles(), findWording)
  collect(markdownFiles(), findInMarkdown)
  return all
}

export const countsOf = (found: Record<string, string[]>) =>
  Object.fromEntries(countNames.map((name) => [name, found[name]!.length])) as Counts

export const readCeiling = (): Counts => JSON.parse(readFileSync(ceilingFile, 'utf8'))

/** Names the counts that are above their ceiling. */
export const exceeded = (counts: Counts, ceiling: Counts) => countNames.filter((name) => counts[name] > ceiling[name])

/** The new ceiling: each count where it fell, the old ceiling where it did not. */
export const lowered = (counts: Counts, ceiling: Counts) =>
  Object.fromEntries(countNames.map((name) => [name, Math.min(counts[name], ceiling[name])])) as Counts

function main(args: string[]) {
  const found = findEverywhere()
  const listed = args[args.indexOf('--list') + 1]
  if (args.includes('--list')) return console.log((found[listed ?? ''] ?? [`Counts: ${countNames.join(', ')}`]).join('\n'))
  const counts = countsOf(found)
  const ceiling = readCeiling()
  if (args.includes('--update')) writeFileSync(ceilingFile, `${JSON.stringify(lowered(counts, ceiling), null, 2)}\n`)
  for (const name of countNames) console.log(`style: ${name} ${counts[name]}, ceiling ${ceiling[name]}`)
  for (const name of exceeded(counts, ceiling)) {
    console.error(
      `style: ${name} rose from ${ceiling[name]} to ${counts[name]}. Change what you added (CONTRIBUTING.md, "Style"); ` +
        `"node scripts/style.ts --list ${name}" prints every place.`,
    )
    process.exitCode = 1
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2))
