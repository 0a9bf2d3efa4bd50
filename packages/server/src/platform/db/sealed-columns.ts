import { type Selectable, sql } from 'kysely'
import type { Db, Schema } from './schema.ts'

/**
 * A sealed value with the location it is bound to. `replace` writes a resealed value unless the stored value has changed meanwhile.
 */
interface SealedValue {
  sealed: string
  location: string
  replace(resealed: string): Promise<unknown>
}

interface SealedColumn {
  name: string
  read(db: Db): Promise<SealedValue[]>
}

/** The location a value is sealed for. It is authenticated with the ciphertext, so a value cannot be moved to another row. */
export const sealedFor = {
  envVariable: (projectId: string, environment: string, key: string) => `envVariables:value:${projectId}/${environment}/${key}`,
  cloneToken: (projectId: string) => `projects:cloneToken:${projectId}`,
  certificateKey: (hostname: string) => `certificates:privateKey:${hostname}`,
  acmeAccountKey: (directoryUrl: string) => `acmeAccounts:privateKey:${directoryUrl}`,
  deploymentEnv: (deploymentId: string) => `deployments:env:${deploymentId}`,
  cloudToken: (organizationId: string) => `cloudLinks:token:${organizationId}`,
  serverCredential: (serverId: string) => `servers:credential:${serverId}`,
  channelSecrets: (channelId: string) => `notificationChannels:secrets:${channelId}`,
  destinationSecrets: (destinationId: string) => `backupDestinations:secrets:${destinationId}`,
  gitCredential: (connectionId: string) => `gitConnections:credential:${connectionId}`,
  gitApplication: (provider: string, url: string) => `gitApplications:secrets:${provider}@${url}`,
  gitDeviceCode: (loginId: string) => `gitDeviceLogins:deviceCode:${loginId}`,
  transferSecrets: (transferId: string) => `transferEnds:secrets:${transferId}`,
  registryPassword: (loginId: string, host: string) => `registryLogins:password:${loginId}@${host}`,
  totpSecret: (userId: string) => `totpFactors:secret:${userId}`,
  gitWebhookSecret: (webhookId: string) => `gitWebhooks:secret:${webhookId}`,
}

/** Every column that holds sealed values. Add new ones here, or `berth secrets rotate` does not re-encrypt them. */
export const sealedColumns: readonly SealedColumn[] = [
  sealedIn('envVariables', 'value', ['projectId', 'environment', 'key'], sealedFor.envVariable),
  sealedIn('projects', 'cloneToken', ['id'], sealedFor.cloneToken),
  sealedIn('notificationChannels', 'secrets', ['id'], sealedFor.channelSecrets),
  sealedIn('cloudLinks', 'token', ['organizationId'], sealedFor.cloudToken),
  sealedIn('servers', 'credential', ['id'], sealedFor.serverCredential),
  sealedIn('deployments', 'env', ['id'], sealedFor.deploymentEnv),
  sealedIn('certificates', 'privateKey', ['hostname'], sealedFor.certificateKey),
  sealedIn('acmeAccounts', 'privateKey', ['directoryUrl'], sealedFor.acmeAccountKey),
  sealedIn('gitConnections', 'credential', ['id'], sealedFor.gitCredential),
  sealedIn('gitApplications', 'secrets', ['provider', 'url'], sealedFor.gitApplication),
  sealedIn('gitDeviceLogins', 'deviceCode', ['id'], sealedFor.gitDeviceCode),
  sealedIn('gitWebhooks', 'secret', ['id'], sealedFor.gitWebhookSecret),
  sealedIn('totpFactors', 'secret', ['userId'], sealedFor.totpSecret),
  sealedIn('registryLogins', 'password', ['id', 'host'], sealedFor.registryPassword),
  sealedIn('transferEnds', 'secrets', ['id'], sealedFor.transferSecrets),
  sealedIn('backupDestinations', 'secrets', ['id'], sealedFor.destinationSecrets),
]

type ColumnOf<Table extends keyof Schema> = keyof Selectable<Schema[Table]> & string

/** `key` identifies a row, and its values are the arguments of `locationOf`. */
function sealedIn<Table extends keyof Schema, Key extends readonly ColumnOf<Table>[]>(
  table: Table,
  column: ColumnOf<Table>,
  key: readonly [...Key],
  locationOf: (...values: { [At in keyof Key]: string }) => string,
): SealedColumn {
  const names = sql.join([...key, column].map((name) => sql.ref(name)))
  return {
    name: `${table}.${column}`,
    async read(db) {
      const { rows } = await sql<Record<string, string>>`
        select ${names} from ${sql.table(table)} where ${sql.ref(column)} is not null`.execute(db)
      return rows.map((row) => {
        const values = key.map((name) => row[name] as string)
        const sealed = row[column] as string
        const isRow = sql.join(
          [...key, column].map((name) => sql`${sql.ref(name)} = ${row[name]}`),
          sql` and `,
        )
        return {
          sealed,
          location: locationOf(...(values as { [At in keyof Key]: string })),
          replace: (resealed) => sql`update ${sql.table(table)} set ${sql.ref(column)} = ${resealed} where ${isRow}`.execute(db),
        }
      })
    },
  }
}
