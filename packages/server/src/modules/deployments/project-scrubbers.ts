import type { Database } from '../../platform/database.ts'
import { deploymentJson } from '../../platform/db/json-columns/deployments.ts'
import { sealedFor } from '../../platform/db/sealed-columns.ts'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import { KeyedMutex } from '../../platform/keyed-mutex.ts'
import type { Log } from '../../platform/log.ts'
import { fixedScrubber } from '../../platform/secrets/fixed-scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import { isReread } from '../../platform/signals/signals.ts'
import { type OpenedEnv, type ProjectSignal, projectsTopic } from '../projects/index.ts'
import { inProgressStatuses } from './store.ts'

/** Hides the secrets of one project in text written about it. It is updated in place when the secrets change. */
export interface ProjectScrubber {
  scrub(text: string): string
}

class ReplaceableScrubber implements ProjectScrubber {
  loaded: Promise<void> = Promise.resolve()
  replace: (text: string) => string = (text) => text
  scrub = (text: string): string => this.replace(text)
}

interface Deps {
  database: Database
  secretBox: SecretBox
  projects: {
    openEnv(projectId: string, environment: string): Promise<OpenedEnv>
    openSecrets(projectId: string): Promise<string[]>
  }
  log: Log
}

/**
 * Scrubbers by project, each with only that project's secrets: the stored ones and those of deployments that run or can be rolled
 * back to. A changed secret therefore stays hidden as long as a process may still print it. Scrubbers are held weakly, so an
 * unused one is freed.
 */
export class ProjectScrubbers {
  readonly #deps: Deps
  readonly #alive = new Map<string, WeakRef<ReplaceableScrubber>>()
  readonly #gone = new FinalizationRegistry<string>((projectId) => {
    if (!this.#alive.get(projectId)?.deref()) this.#alive.delete(projectId)
  })
  readonly #locks = new KeyedMutex()

  constructor(deps: Deps) {
    this.#deps = deps
    deps.database.signals.subscribe<ProjectSignal>(projectsTopic, (event) => {
      const changed = isReread(event) ? [...this.#alive.keys()] : [event.projectId]
      for (const projectId of changed)
        this.refresh(projectId).catch((error: unknown) =>
          deps.log.warn({ err: error, projectId }, 'deployments: secrets for log masking not refreshed'),
        )
    })
  }

  async of(projectId: string): Promise<ProjectScrubber> {
    const existing = this.#alive.get(projectId)?.deref()
    const scrubber = existing ?? new ReplaceableScrubber()
    if (!existing) {
      this.#alive.set(projectId, new WeakRef(scrubber))
      this.#gone.register(scrubber, projectId)
      scrubber.loaded = this.#load(projectId, scrubber)
      // A scrubber that failed to load would hide nothing: drop it.
      scrubber.loaded.catch(() => this.#alive.delete(projectId))
    }
    await scrubber.loaded
    return scrubber
  }

  /** Reloads the secrets of a project's scrubber; does nothing when no scrubber is in use. */
  async refresh(projectId: string): Promise<void> {
    const scrubber = this.#alive.get(projectId)?.deref()
    if (scrubber) await this.#load(projectId, scrubber)
  }

  #load(projectId: string, scrubber: ReplaceableScrubber): Promise<void> {
    return this.#locks.run(projectId, async () => {
      const values = [...(await this.#deps.projects.openSecrets(projectId)), ...(await this.#deployedSecrets(projectId))]
      scrubber.replace = fixedScrubber(values)
    })
  }

  async #deployedSecrets(projectId: string): Promise<string[]> {
    const { db } = this.#deps.database
    const rows = await db
      .selectFrom('deployments')
      .select(['id', 'environment', 'env', 'envSecretKeys'])
      .where('projectId', '=', projectId)
      .where('env', 'is not', null)
      .where(({ or, eb, selectFrom }) =>
        or([
          eb('artifacts', 'is not', null),
          eb('status', 'in', inProgressStatuses),
          eb('id', 'in', selectFrom('instances').select('deploymentId').where('projectId', '=', projectId)),
        ]),
      )
      .execute()
    const secrets: string[] = []
    for (const row of rows) secrets.push(...(await this.#secretsOf({ ...row, projectId })))
    return secrets
  }

  async #secretsOf(row: Pick<DeploymentRow, 'id' | 'projectId' | 'environment' | 'env' | 'envSecretKeys'>): Promise<string[]> {
    const opened = this.#deps.secretBox.open(row.env as string, sealedFor.deploymentEnv(row.id))
    const values = deploymentJson.env(opened.reveal(), row.id)
    return (await secretKeysOf(row, this.#deps)).flatMap((key) => values[key] ?? [])
  }
}

/** Names of a deployment's secret variables, as they were when it read them. */
export async function secretKeysOf(
  deployment: Pick<DeploymentRow, 'id' | 'projectId' | 'environment' | 'envSecretKeys'>,
  { projects }: Pick<Deps, 'projects'>,
): Promise<string[]> {
  const recorded = deploymentJson.envSecretKeys(deployment)
  return recorded ?? (await projects.openEnv(deployment.projectId, deployment.environment)).secretKeys
}
