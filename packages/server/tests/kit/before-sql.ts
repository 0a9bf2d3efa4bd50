const isPostgres = process.env.BERTH_TEST_DATABASE === 'postgres'
const isGate = process.env.BERTH_TEST_SELECTION === 'gate'

/** Selects from generated cases that end before they run SQL: SQLite runs all of them, PostgreSQL only the first. */
export const beforeSql = <Item>(items: Item[]): Item[] => (isPostgres ? items.slice(0, 1) : items)

/** Distance between two tested steps of a long operation. SQLite, where a step takes milliseconds, tests every step. */
export const stepLength = isPostgres ? (isGate ? 19 : 7) : 1

/** Selects from a large table of cases. `npm test` runs every seventh on PostgreSQL; SQLite and the full matrix run all. */
export const sampled = <Item>(items: Item[]): Item[] => (isPostgres && isGate ? items.filter((_, at) => at % 7 === 0) : items)
