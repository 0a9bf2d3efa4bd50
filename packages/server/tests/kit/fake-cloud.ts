import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sealedFor } from '../../src/platform/db/sealed-columns.ts'
import type { TestInstance } from './instance.ts'
import type { People } from './people.ts'

/** Fake cloud servers for one test file. */
export class FakeClouds {
  readonly #servers: Server[] = []

  /** Starts a server with the given responses. */
  async answering(answer: RequestListener): Promise<string> {
    const server = createServer(answer)
    this.#servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    for (const server of this.#servers) server.close().closeAllConnections()
  }
}

/** Stores a link to a URL that the route would have rejected. */
export async function linkBy(
  { database, secretBox }: Pick<TestInstance, 'database' | 'secretBox'>,
  { organizationId, owner }: Pick<People, 'organizationId' | 'owner'>,
  url: string,
): Promise<void> {
  const row = {
    ...{ organizationId, url, tokenLastFour: 'link', remoteOrganizationId: 'org_x', tokenExpiresAt: null },
    mayBeInside: 1 as const,
    token: secretBox.seal('brt_link', sealedFor.cloudToken(organizationId)),
    linkedBy: owner.userId,
    linkedAt: Date.now(),
  }
  await database.db.insertInto('cloudLinks').values(row).execute()
  database.signals.publish('cloud-links', { organizationId })
}
