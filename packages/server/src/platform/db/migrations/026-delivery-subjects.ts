import type { Kysely } from 'kysely'

export const migration = {
  name: '026-delivery-subjects',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema.alterTable('gitDeliveries').addColumn('subject', 'text').execute()
    await schema.createIndex('gitDeliveriesOfSubject').on('gitDeliveries').columns(['subject', 'receivedAt']).execute()
  },
}
