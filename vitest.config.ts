import { defineConfig } from 'vitest/config'

/** The API suite is one set of files, run once on each database. */
const api = (database: 'sqlite' | 'postgres') => ({
  test: {
    name: `api-${database}`,
    include: ['packages/server/tests/**/*.test.ts'],
    env: { BERTH_TEST_DATABASE: database },
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['packages/*/src/**/*.test.{ts,tsx}'], testTimeout: 30_000 } },
      api('sqlite'),
      api('postgres'),
      {
        test: {
          name: 'e2e',
          include: ['tests/**/*.test.ts', 'bench/**/*.test.ts', 'scripts/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
})
