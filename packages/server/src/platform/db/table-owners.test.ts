import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'

const source = join(import.meta.dirname, '..', '..')
const read = (file: string) => readFileSync(join(source, file), 'utf8')

/** `tables/<owner>.ts` defines the owner of each table: a module, or a part of the platform. */
const ownerOf = new Map(
  globSync('platform/db/tables/*.ts', { cwd: source }).flatMap((file) => {
    const [, tables = ''] = read(file).match(/export interface \w+Tables \{\n(.*?)\n\}/s) ?? []
    return [...tables.matchAll(/^ +(\w+):/gm)].map(([, table]) => [table as string, basename(file, '.ts')] as const)
  }),
)

const allowed = [
  // Walks every table that has a sealed column when the key is changed.
  'platform/db/sealed-columns.ts',
  // Finds the organisation whose slots a job uses, in the statement that inserts the job.
  'platform/jobs/owners.ts',
]

/** The owner that a file belongs to. The job runner is the second folder of `jobs`. */
const roomOf = (file: string) => {
  const room = file.match(/^(?:modules|platform)\/([\w-]+)\//)?.[1] ?? file.split('/')[0]
  return room === 'job-runner' ? 'jobs' : room
}

/** Table names in a source text, from Kysely's calls or SQL. */
function tablesIn(text: string): string[] {
  const calls = text.matchAll(/\b(?:selectFrom|insertInto|updateTable|deleteFrom|\w*[jJ]oin|from|using)\(\s*\[?\s*['"`](\w+)/g)
  const statements = [...text.matchAll(/\bsql(?:<[^`]*?>)?`([^`]*)`/g)].map(([, statement]) => statement as string).join('\n')
  const words = statements.matchAll(/\b(?:from|into|update|join|table)\s+"?(\w+)/gi)
  return [...calls, ...words].map(([, table]) => table as string)
}

const files = globSync('**/*.ts', { cwd: source }).filter(
  (file) => !/\.test\.ts$|(^|\/)test-[\w-]+\.ts$|platform\/db\/(tables|migrations)\//.test(file) && !allowed.includes(file),
)

test('a table has one owner: other modules use it through the index.ts of the owner', () => {
  const crossings = files.flatMap((file) =>
    tablesIn(read(file))
      .filter((table) => ownerOf.has(table) && ownerOf.get(table) !== roomOf(file))
      .map((table) => `${file} names ${table}, which is ${ownerOf.get(table)}'s`),
  )
  expect(crossings).toEqual([])
})

test('tables and the files that use them are found', () => {
  expect(ownerOf.get('projects')).toBe('projects')
  expect(ownerOf.get('acmeChallenges')).toBe('routing')
  expect(ownerOf.get('jobs')).toBe('jobs')
  const text = "db.selectFrom('projects as one').innerJoin('grants', 'a', 'b')\nsql<number>`select 1 from \"deliveries\"`"
  expect(tablesIn(text)).toEqual(['projects', 'grants', 'deliveries'])
  expect(files.filter((file) => tablesIn(read(file)).some((table) => ownerOf.has(table))).length).toBeGreaterThan(20)
})

/** Columns that are a state machine: only one file writes each of them. */
const movers = [
  { table: 'liveEnvironments', column: 'state', mover: 'modules/deployments/live-environments.ts' },
  { table: 'domains', column: 'tls', mover: 'modules/projects/domains/domain-tls.ts' },
]

test.each(movers)('$table.$column is changed by $mover only', ({ table, column, mover }) => {
  const writes = new RegExp(`updateTable\\('${table}'\\)(?:(?!\\.where|\\.execute).)*\\b${column}\\b`, 's')
  expect(files.filter((file) => writes.test(read(file)))).toEqual([mover])
})
