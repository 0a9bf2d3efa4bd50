import type { RateLimitName } from '@berth/contract'
import type { FastifyInstance } from 'fastify'
import type { Config } from './config.ts'
import { type Clock, systemClock } from './db/clock.ts'
import type { Database } from './db/open.ts'
import type { Loaders } from './http/handler.ts'
import { RateLimiter } from './http/rate-limit.ts'
import { createHttpServer } from './http/server.ts'
import { createJobs, type Jobs } from './jobs/create-jobs.ts'
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

export interface Assembled {
  app: FastifyInstance
  access: ReturnType<typeof createAccess>
  jobs: Jobs
  publicUrl(): string
  /** Ends open streams, then waits for requests under way. */
  close(): Promise<void>
}

/** Config → drivers → modules → server. Nothing listens and no job runs yet. */
export function assemble({ config, version, database, logger, clock = systemClock, rateLimits }: Parts): Assembled {
  const stopping = new AbortController()
  const publicUrl = () => config.publicUrl ?? `http://${config.host}:${portOf(app) ?? config.port}`
  const access = createAccess({ database, clock, log: logger, publicUrl })
  const instance = createInstance({ version, mode: config.mode })
  const loaders: Loaders = { ...access.loaders }

  const app = createHttpServer(
    { version, logger, trustedProxies: config.trustedProxies },
    { instance: instance.handlers, access: access.handlers },
    {
      mode: config.mode,
      gatekeeper: access.gatekeeper,
      loaders,
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
    jobs: [],
    leaseMs: config.jobLeaseSeconds * 1000,
  })
  const close = async () => {
    stopping.abort()
    await app.close()
  }
  return { app, access, jobs, publicUrl, close }
}

function portOf(app: FastifyInstance): number | undefined {
  const address = app.addresses()[0] as { port?: number } | undefined
  return address?.port
}
