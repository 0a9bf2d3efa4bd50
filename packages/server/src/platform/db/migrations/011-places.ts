import type { Kysely } from 'kysely'

/** The server of a deployment, an instance or a volume; null is this machine. */
export const migration = {
  name: '011-places',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    for (const table of ['deployments', 'instances', 'volumes'])
      await schema.alterTable(table).addColumn('serverId', 'text').execute()
  },
}
