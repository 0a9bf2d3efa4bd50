import type { CreateTableBuilder, Kysely } from 'kysely'

export const migration = {
  name: '012-git-host',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await ofOrganization(schema.createTable('gitConnections').addColumn('id', 'text', (column) => column.primaryKey()))
      .addColumn('source', 'text', (column) => column.notNull())
      .addColumn('externalId', 'text', (column) => column.notNull())
      .addColumn('accountId', 'text', (column) => column.notNull())
      .addColumn('accountLogin', 'text', (column) => column.notNull())
      .addColumn('accountType', 'text', (column) => column.notNull())
      .addColumn('avatarUrl', 'text')
      .addColumn('credential', 'text')
      .addColumn('credentialExpiresAt', 'bigint')
      .addColumn('refreshingUntil', 'bigint')
      .addColumn('trouble', 'text')
      .addColumn('createdBy', 'text')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('updatedAt', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('gitConnectionOnce', ['organizationId', 'provider', 'source', 'externalId'])
      .execute()
    await schema
      .createIndex('gitConnectionsOfInstallation')
      .on('gitConnections')
      .columns(['provider', 'source', 'externalId'])
      .execute()
    await schema
      .createTable('gitOauthStates')
      .addColumn('stateHash', 'text', (column) => column.primaryKey())
      .addColumn('expiresAt', 'bigint', (column) => column.notNull())
      .execute()
    await schema.createIndex('gitOauthStatesToForget').on('gitOauthStates').column('expiresAt').execute()
    await ofOrganization(schema.createTable('gitDeviceLogins').addColumn('id', 'text', (column) => column.primaryKey()))
      .addColumn('userId', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
      .addColumn('deviceCode', 'text', (column) => column.notNull())
      .addColumn('userCode', 'text', (column) => column.notNull())
      .addColumn('verificationUri', 'text', (column) => column.notNull())
      .addColumn('intervalSeconds', 'integer', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('message', 'text')
      .addColumn('nextPollAt', 'bigint', (column) => column.notNull())
      .addColumn('expiresAt', 'bigint', (column) => column.notNull())
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('gitDeviceLoginOnce', ['organizationId', 'userId', 'provider'])
      .execute()
    await ofOrganization(schema.createTable('gitWebhooks').addColumn('id', 'text', (column) => column.primaryKey()))
      .addColumn('repository', 'text', (column) => column.notNull())
      .addColumn('hookId', 'bigint', (column) => column.notNull())
      .addColumn('url', 'text', (column) => column.notNull())
      .addColumn('events', 'text', (column) => column.notNull())
      .addColumn('secret', 'text', (column) => column.notNull())
      .addColumn('lastDeliveryAt', 'bigint')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('updatedAt', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('gitWebhookOnce', ['organizationId', 'provider', 'repository'])
      .execute()
    await schema.createIndex('gitWebhooksOfRepository').on('gitWebhooks').columns(['provider', 'repository']).execute()
  },
}

const ofOrganization = <Columns extends string>(table: CreateTableBuilder<string, Columns>) =>
  table
    .addColumn('organizationId', 'text', (column) => column.notNull().references('organizations.id').onDelete('cascade'))
    .addColumn('provider', 'text', (column) => column.notNull())
