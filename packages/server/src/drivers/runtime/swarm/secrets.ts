import { callEngine, type Engine, statusOf } from '../docker/engine.ts'
import { type Labels, labelIn } from '../docker/labels.ts'
import type { StartRequest } from '../runtime.ts'
import type { SecretText } from './secret-variables.ts'
import type { SecretFile } from './service-spec.ts'

interface SecretRow {
  ID: string
  Spec?: { Labels?: Record<string, string> }
}

const everyone = { uid: 0, gid: 0, mode: 0o444 }

/** Secrets of the swarm, each a file in the containers of one instance. */
export class Secrets {
  readonly #engine: Engine
  readonly #labels: Labels

  constructor(engine: Engine, labels: Labels) {
    this.#engine = engine
    this.#labels = labels
  }

  /** Creates the secrets of an instance. Every user of its containers can read the variables. */
  async create({ instanceId, owner, service, files = [] }: StartRequest, variables: readonly SecretText[], abort: AbortSignal) {
    await this.removeOf(instanceId)
    const created: SecretFile[] = []
    const all = [...variables.map((one) => ({ ...one, ...everyone })), ...files]
    for (const [at, { path, content, uid, gid, mode }] of all.entries()) {
      const name = `berth-${instanceId}-${at}`
      const Labels = this.#labels.ofOwner('secret', owner, service, { id: instanceId })
      const secret = { Name: name, Labels, Data: Buffer.from(content).toString('base64') }
      const { id } = (await callEngine((abortSignal) => this.#engine.createSecret({ ...secret, abortSignal }), { abort })) as {
        id: string
      }
      created.push({ id, name, path, uid, gid, mode })
    }
    return created
  }

  async removeOf(instanceId: string): Promise<void> {
    for (const { ID } of await this.#list({ id: instanceId })) await this.#remove(ID)
  }

  /** Removes secrets of starts that were killed before their service was created. */
  async removeOrphaned(used: ReadonlySet<string>): Promise<void> {
    for (const { ID, Spec } of await this.#list({})) if (!used.has(labelIn(Spec?.Labels, 'id'))) await this.#remove(ID)
  }

  #list(more: { id?: string }): Promise<SecretRow[]> {
    const filters = JSON.stringify(this.#labels.filter('secret', more))
    return callEngine((abortSignal) => this.#engine.listSecrets({ filters, abortSignal } as object)) as Promise<SecretRow[]>
  }

  async #remove(id: string): Promise<void> {
    await callEngine(() => this.#engine.getSecret(id).remove()).catch((error: unknown) => {
      // Removed already, or still used by a service that is being removed. A later call removes it.
      if (statusOf(error) !== 404 && statusOf(error) !== 400 && statusOf(error) !== 409) throw error
    })
  }
}
