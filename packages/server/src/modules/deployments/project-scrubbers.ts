import type { Database } from '../../platform/database.ts'
import { sealedFor } from '../../platform/db/sealed-columns.ts'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import { KeyedMutex } from '../../platform/keyed-mutex.ts'
import type { Log } from '../../platform/log.ts'
import { fixedScrubber } from '../../platform/secrets/fixed-scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import { isReread } from '../../platform/signals/signals.ts'
import { type OpenedEnv, type ProjectSignal, projectsTopic } from '../projects/index.ts'
import { underWay } from './store.ts'

/** Hides the secrets of one project in what is written of it. Whoever holds one has it as it should be now. */
export interface ProjectScrubber {
  scrub(text: string): string
}

class HeldScrubber implements ProjectScrubber {
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
 * One scrubber a project, of its own secrets alone: what it stores now, and what the versions that run or can be gone back to
 * were given, so that a secret that was changed stays hidden for as long as something may still print it. It is in memory only
 * while somebody holds it.
 */
export class ProjectScrubbers {
  readonly #deps: Deps
  readonly #alive = new Map<string, WeakRef<HeldScrubber>>()
  readonly #gone = new FinalizationRegistry<string>((projectId) => {
    if (!this.#alive.get(projectId)?.deref()) this.#alive.delete(projectId)
  })
  readonly #turns = new KeyedMutex()

  constructor(deps: Deps) {
    this.#deps = deps
    deps.database.signals.subscribe<ProjectSignal>(projectsTopic, (event) => {
      const changed = isReread(event) ? [...this.#alive.keys()] : [event.projectId]
      for (const projectId of changed)
        this.refresh(projectId).catch((error: unknown) => deps.log.warn({ err: error, projectId }, 'secrets were not read again'))
    })
  }

  async of(projectId: string): Promise<ProjectScrubber> {
    const known = this.#alive.get(projectId)?.deref()
    const held = known ?? new HeldScrubber()
    if (!known) {
      this.#alive.set(projectId, new WeakRef(held))
      this.#gone.register(held, projectId)
      held.loaded = this.#load(projectId, held)
      // Nobody is to write through one that knows nothing.
      held.loaded.catch(() => this.#alive.delete(projectId))
    }
    await held.loaded
    return held
  }

  /** Resolves when what the database says now is what is hidden; does nothing where nobody writes. */
  async refresh(projectId: string): Promise<void> {
    const held = this.#alive.get(projectId)?.deref()
    if (held) await this.#load(projectId, held)
  }

  #load(projectId: string, held: HeldScrubber): Promise<void> {
    return this.#turns.run(projectId, async () => {
      const values = [...(await this.#deps.projects.openSecrets(projectId)), ...(await this.#deployedSecrets(projectId))]
      held.replace = fixedScrubber(values)
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
          eb('status', 'in', underWay),
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
    const values = JSON.parse(opened.reveal()) as Record<string, string>
    return (await secretKeysOf(row, this.#deps)).flatMap((key) => values[key] ?? [])
  }
}

/** Which variables of a deployment are secret: those that were when it took them. */
export async function secretKeysOf(
  { projectId, environment, envSecretKeys }: Pick<DeploymentRow, 'projectId' | 'environment' | 'envSecretKeys'>,
  { projects }: Pick<Deps, 'projects'>,
): Promise<string[]> {
  if (envSecretKeys !== null) return JSON.parse(envSecretKeys) as string[]
  return (await projects.openEnv(projectId, environment)).secretKeys
}
