/** For generated cases that end before any SQL of their own: SQLite has all of them, PostgreSQL the first, for the way there. */
export const beforeSql = <Item>(items: Item[]): Item[] =>
  process.env.BERTH_TEST_DATABASE === 'postgres' ? items.slice(0, 1) : items

/** How far apart the steps are that a test goes through one after the other: each on SQLite, where a step takes milliseconds. */
export const stepLength = process.env.BERTH_TEST_DATABASE === 'postgres' ? 7 : 1
