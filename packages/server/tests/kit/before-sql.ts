const isPostgres = process.env.BERTH_TEST_DATABASE === 'postgres'
const isGate = process.env.BERTH_TEST_SELECTION === 'gate'

/** For generated cases that end before any SQL of their own: SQLite has all of them, PostgreSQL the first, for the way there. */
export const beforeSql = <Item>(items: Item[]): Item[] => (isPostgres ? items.slice(0, 1) : items)

/** How far apart the steps are that a test goes through one after the other: each on SQLite, where a step takes milliseconds. */
export const stepLength = isPostgres ? (isGate ? 19 : 7) : 1

/** Cases that differ by a row of a table: all of them on SQLite, and in the matrix on PostgreSQL; every seventh there in the gate. */
export const sampled = <Item>(items: Item[]): Item[] => (isPostgres && isGate ? items.filter((_, at) => at % 7 === 0) : items)
