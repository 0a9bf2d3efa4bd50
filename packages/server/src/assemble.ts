import type { ModuleName, RateLimitName } from '@berth/contract'
import type { FastifyInstance } from 'fastify'
import type { Config } from './config.ts'
import { type Clock, systemClock } from './db/clock.ts'
import type { Database } from './db/open.ts'
import type { Loaders } from './http/handler.ts'
import { RateLimiter } from './http/rate-limit.ts'
import { createHttpServer } from './http/server.ts'
import { createJobs, type Jobs } from './jobs/create-jobs.ts'
import type { Job } from './jobs/declare.ts'
import type { Logger } from './logger.ts'
import { createAccess } from './modules/access/index.ts'
import { createInstance } from './modules/instance/index.ts'
import type { SecretBox } from './secrets/secret-box.ts'

/** What an instance is made of; tests bring their own database, clock and drivers. */
export interface Parts {
  config: Config
  version: string
  database: Database
  secretBox: SecretBox
  logger: Logger
  clock?: Clock
  rateLimits?: Partial<Record<RateLimitName, number>>
}

/** What a module hands in: handlers by the names of its rows, loaders of what its paths name, its durable work. */
interface Module {
  handlers: object
  loaders?: Loaders
  jobs?: readonly Job<unknown, undefined>[]
}

export interface Assembled {
  app: FastifyInstance
  access: ReturnType<typeof createAccess>
  jobs: Jobs
  /** `module.row` of every row that has a handler; the others answer 501. */
  builtRows: ReadonlySet<string>
  publicUrl(): string
  /** Ends open streams, then waits for requests under way. */
  close(): Promise<void>
}

/** Config → drivers → modules → server. Nothing listens and no job runs yet. */
export function assemble({ config, version, database, logger, clock = systemClock, rateLimits }: Parts): Assembled {
  const stopping = new AbortController()
  const publicUrl = () => config.publicUrl ?? `http://${config.host}:${portOf(app) ?? config.port}`
  const access = createAccess({ database, clock, log: logger, publicUrl })
  const modules: Partial<Record<ModuleName, Module>> = {
    instance: createInstance({ version, mode: config.mode }),
    access,
  }

  const app = createHttpServer(
    { version, logger, trustedProxies: config.trustedProxies },
    mapValues(modules, ({ handlers }) => handlers),
    {
      mode: config.mode,
      gatekeeper: access.gatekeeper,
      loaders: Object.assign({}, ...Object.values(modules).map(({ loaders }) => loaders)),
      limiter: new RateLimiter(() => clock.now().getTime(), rateLimits),
      recordAudit: access.recordAudit,
      spendStreamToken: access.streamTokens.spend,
      stopping: stopping.signal,
    },
  )
  const jobs = createJobs({
    database,
    signals: database.signals,
    clock,
    log: logger,
    deps: undefined,
    jobs: Object.values(modules).flatMap(({ jobs }) => jobs ?? []),
    leaseMs: config.jobLeaseSeconds * 1000,
  })
  const close = async () => {
    stopping.abort()
    await app.close()
  }
  return { app, access, jobs, builtRows: rowsWithHandler(modules), publicUrl, close }
}

const mapValues = <V, R>(record: Record<string, V>, map: (value: V) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))

const rowsWithHandler = (modules: Record<string, Module>): ReadonlySet<string> =>
  new Set(Object.entries(modules).flatMap(([module, { handlers }]) => Object.keys(handlers).map((row) => `${module}.${row}`)))

function portOf(app: FastifyInstance): number | undefined {
  const address = app.addresses()[0] as { port?: number } | undefined
  return address?.port
}
