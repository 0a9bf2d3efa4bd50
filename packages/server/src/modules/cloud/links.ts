import type { CloudAddress } from '../../drivers/cloud-api/cloud-api.ts'
import { type Awaitable, thenSync } from '../../platform/awaitable.ts'
import { sealedFor } from '../../platform/db/sealed-columns.ts'
import type { CloudLinkRow } from '../../platform/db/tables/cloud.ts'
import { isReread } from '../../platform/signals/signals.ts'
import type { CloudDeps } from './deps.ts'
import { findLink } from './store.ts'

const topic = 'cloud-links'
interface LinkSignal {
  organizationId: string
}

/** Identifier of an account in a cloud, as stored in `cloudTransfers` and `cloudProjects`. */
export const accountOf = ({ url, remoteOrganizationId }: Pick<CloudLinkRow, 'url' | 'remoteOrganizationId'>): string =>
  `${url} ${remoteOrganizationId}`

export interface Link {
  row: CloudLinkRow
  address: CloudAddress
}

/**
 * Cache of links: each is read once and kept until it changes, on this or another control plane. Every request for a project
 * needs one.
 */
export class Links {
  readonly #deps: CloudDeps
  readonly #cache = new Map<string, Awaitable<Link | null>>()

  constructor(deps: CloudDeps) {
    this.#deps = deps
    deps.database.signals.subscribe<LinkSignal>(topic, (event) => {
      if (isReread(event)) this.#cache.clear()
      else this.#cache.delete(event.organizationId)
    })
  }

  of(organizationId: string): Awaitable<Link | null> {
    const cached = this.#cache.get(organizationId)
    if (cached !== undefined) return cached
    const link = this.read(organizationId)
    this.#cache.set(organizationId, link)
    // The promise is replaced by its result, unless the link has changed and the cache was cleared meanwhile.
    const isCurrent = () => this.#cache.get(organizationId) === link
    link.then(
      (result) => {
        if (isCurrent()) this.#cache.set(organizationId, result)
      },
      () => {
        if (isCurrent()) this.#cache.delete(organizationId)
      },
    )
    return link
  }

  has(organizationId: string): Awaitable<boolean> {
    return thenSync(this.of(organizationId), (link) => link !== null)
  }

  /** Called after the change was committed. */
  changed(organizationId: string): void {
    this.#cache.delete(organizationId)
    this.#deps.database.signals.publish(topic, { organizationId } satisfies LinkSignal)
  }

  /** Reads the link from the database. */
  async read(organizationId: string): Promise<Link | null> {
    const { database, secretBox, scrubber } = this.#deps
    const row = await findLink(database.db, organizationId)
    if (!row) return null
    const token = secretBox.open(row.token, sealedFor.cloudToken(organizationId)).reveal()
    scrubber.register(token)
    return { row, address: { url: row.url, token, mayBeInside: row.mayBeInside === 1 } }
  }
}
