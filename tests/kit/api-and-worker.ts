import { tmpdir } from 'node:os'
import { openTestDatabase } from '../../packages/server/src/platform/test-database.ts'
import { type Hosting, ownerSettings, startHosting } from './hosting.ts'
import { partOf } from './machine.ts'
import { settingsFor } from './runtimes.ts'
import { type Berth, startBerth } from './start-berth.ts'

/** An API process and a worker on one database. */
export interface ApiAndWorker extends AsyncDisposable {
  worker: Berth
  /** The instance as clients of the API process see it. */
  hosting: Hosting
}

/** Starts both processes. On SQLite they share a data folder; on PostgreSQL they have a database of their own. */
export async function startApiAndWorker(database: 'sqlite' | 'postgres'): Promise<ApiAndWorker> {
  await using started = new AsyncDisposableStack()
  if (database === 'postgres') process.env.BERTH_TEST_POSTGRES_URL ??= partOf('postgres')
  const postgres = database === 'postgres' ? await openTestDatabase({ kind: 'postgres' }) : undefined
  started.defer(async () => postgres?.close())
  const shared = postgres && {
    BERTH_DATABASE_URL: postgres.settings.url!,
    BERTH_SECRET_KEY: 'a secret that both processes know',
    BERTH_JOB_LEASE_SECONDS: '5',
  }
  const worker = await startBerth({
    env: {
      ...settingsFor('process'),
      ...shared,
      ...ownerSettings,
      BERTH_ROLE: 'worker',
      BERTH_PROJECT_ROOTS: tmpdir(),
      BERTH_RATE_LIMIT_SCALE: '1000',
    },
  })
  started.use(worker)
  const { port: edgePort } = new URL(worker.edgeUrl)
  const hosting = await startHosting({
    ...(postgres ? {} : { dataFolder: worker.dataFolder }),
    env: { ...shared, BERTH_ROLE: 'api', BERTH_WORKER_URL: worker.url, BERTH_EDGE_PORT: edgePort },
  })
  started.use(hosting)
  // The projects end before the folder that they run in is removed.
  started.defer(async () => {
    await hosting.berth[Symbol.asyncDispose]()
    await worker.stop()
  })
  const ending = started.move()
  return { worker, hosting, [Symbol.asyncDispose]: () => ending.disposeAsync() }
}
