import type { Db } from './schema.ts'

/**
 * A sealed value with the location it is bound to. `replace` writes a resealed value unless the stored value has changed meanwhile.
 */
interface SealedValue {
  sealed: string
  place: string
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
  gitDeviceCode: (loginId: string) => `gitDeviceLogins:deviceCode:${loginId}`,
  transferSecrets: (transferId: string) => `transferEnds:secrets:${transferId}`,
  registryPassword: (loginId: string, host: string) => `registryLogins:password:${loginId}@${host}`,
  gitWebhookSecret: (webhookId: string) => `gitWebhooks:secret:${webhookId}`,
}

/** Every column that holds sealed values. Add new ones here, or `berth secrets rotate` does not re-encrypt them. */
export const sealedColumns: readonly SealedColumn[] = [
  {
    name: 'envVariables.value',
    async read(db) {
      const rows = await db.selectFrom('envVariables').select(['projectId', 'environment', 'key', 'value']).execute()
      return rows.map(({ projectId, environment, key, value }) => ({
        sealed: value,
        place: sealedFor.envVariable(projectId, environment, key),
        replace: (resealed) =>
          db
            .updateTable('envVariables')
            .set({ value: resealed })
            .where('projectId', '=', projectId)
            .where('environment', '=', environment)
            .where('key', '=', key)
            .where('value', '=', value)
            .execute(),
      }))
    },
  },
  {
    name: 'projects.cloneToken',
    async read(db) {
      const rows = await db.selectFrom('projects').select(['id', 'cloneToken']).where('cloneToken', 'is not', null).execute()
      return rows.map(({ id, cloneToken }) => ({
        sealed: cloneToken!,
        place: sealedFor.cloneToken(id),
        replace: (resealed) =>
          db
            .updateTable('projects')
            .set({ cloneToken: resealed })
            .where('id', '=', id)
            .where('cloneToken', '=', cloneToken)
            .execute(),
      }))
    },
  },
  {
    name: 'notificationChannels.secrets',
    async read(db) {
      const rows = await db
        .selectFrom('notificationChannels')
        .select(['id', 'secrets'])
        .where('secrets', 'is not', null)
        .execute()
      return rows.map(({ id, secrets }) => ({
        sealed: secrets!,
        place: sealedFor.channelSecrets(id),
        replace: (resealed) =>
          db
            .updateTable('notificationChannels')
            .set({ secrets: resealed })
            .where('id', '=', id)
            .where('secrets', '=', secrets)
            .execute(),
      }))
    },
  },
  {
    name: 'cloudLinks.token',
    async read(db) {
      const rows = await db.selectFrom('cloudLinks').select(['organizationId', 'token']).execute()
      return rows.map(({ organizationId, token }) => ({
        sealed: token,
        place: sealedFor.cloudToken(organizationId),
        replace: (resealed) =>
          db
            .updateTable('cloudLinks')
            .set({ token: resealed })
            .where('organizationId', '=', organizationId)
            .where('token', '=', token)
            .execute(),
      }))
    },
  },
  {
    name: 'servers.credential',
    async read(db) {
      const rows = await db.selectFrom('servers').select(['id', 'credential']).where('credential', 'is not', null).execute()
      return rows.map(({ id, credential }) => ({
        sealed: credential!,
        place: sealedFor.serverCredential(id),
        replace: (resealed) =>
          db
            .updateTable('servers')
            .set({ credential: resealed })
            .where('id', '=', id)
            .where('credential', '=', credential)
            .execute(),
      }))
    },
  },
  {
    name: 'deployments.env',
    async read(db) {
      const rows = await db.selectFrom('deployments').select(['id', 'env']).where('env', 'is not', null).execute()
      return rows.map(({ id, env }) => ({
        sealed: env!,
        place: sealedFor.deploymentEnv(id),
        replace: (resealed) =>
          db.updateTable('deployments').set({ env: resealed }).where('id', '=', id).where('env', '=', env).execute(),
      }))
    },
  },
  {
    name: 'certificates.privateKey',
    async read(db) {
      const rows = await db.selectFrom('certificates').select(['hostname', 'privateKey']).execute()
      return rows.map(({ hostname, privateKey }) => ({
        sealed: privateKey,
        place: sealedFor.certificateKey(hostname),
        replace: (resealed) =>
          db
            .updateTable('certificates')
            .set({ privateKey: resealed })
            .where('hostname', '=', hostname)
            .where('privateKey', '=', privateKey)
            .execute(),
      }))
    },
  },
  {
    name: 'acmeAccounts.privateKey',
    async read(db) {
      const rows = await db.selectFrom('acmeAccounts').select(['directoryUrl', 'privateKey']).execute()
      return rows.map(({ directoryUrl, privateKey }) => ({
        sealed: privateKey,
        place: sealedFor.acmeAccountKey(directoryUrl),
        replace: (resealed) =>
          db
            .updateTable('acmeAccounts')
            .set({ privateKey: resealed })
            .where('directoryUrl', '=', directoryUrl)
            .where('privateKey', '=', privateKey)
            .execute(),
      }))
    },
  },
  {
    name: 'gitConnections.credential',
    async read(db) {
      const rows = await db
        .selectFrom('gitConnections')
        .select(['id', 'credential'])
        .where('credential', 'is not', null)
        .execute()
      return rows.map(({ id, credential }) => ({
        sealed: credential!,
        place: sealedFor.gitCredential(id),
        replace: (resealed) =>
          db
            .updateTable('gitConnections')
            .set({ credential: resealed })
            .where('id', '=', id)
            .where('credential', '=', credential)
            .execute(),
      }))
    },
  },
  {
    name: 'gitDeviceLogins.deviceCode',
    async read(db) {
      const rows = await db.selectFrom('gitDeviceLogins').select(['id', 'deviceCode']).execute()
      return rows.map(({ id, deviceCode }) => ({
        sealed: deviceCode,
        place: sealedFor.gitDeviceCode(id),
        replace: (resealed) =>
          db
            .updateTable('gitDeviceLogins')
            .set({ deviceCode: resealed })
            .where('id', '=', id)
            .where('deviceCode', '=', deviceCode)
            .execute(),
      }))
    },
  },
  {
    name: 'gitWebhooks.secret',
    async read(db) {
      const rows = await db.selectFrom('gitWebhooks').select(['id', 'secret']).execute()
      return rows.map(({ id, secret }) => ({
        sealed: secret,
        place: sealedFor.gitWebhookSecret(id),
        replace: (resealed) =>
          db.updateTable('gitWebhooks').set({ secret: resealed }).where('id', '=', id).where('secret', '=', secret).execute(),
      }))
    },
  },
  {
    name: 'registryLogins.password',
    async read(db) {
      const rows = await db.selectFrom('registryLogins').select(['id', 'host', 'password']).execute()
      return rows.map(({ id, host, password }) => ({
        sealed: password,
        place: sealedFor.registryPassword(id, host),
        replace: (resealed) =>
          db
            .updateTable('registryLogins')
            .set({ password: resealed })
            .where('id', '=', id)
            .where('password', '=', password)
            .execute(),
      }))
    },
  },
  {
    name: 'transferEnds.secrets',
    async read(db) {
      const rows = await db.selectFrom('transferEnds').select(['id', 'secrets']).where('secrets', 'is not', null).execute()
      return rows.map(({ id, secrets }) => ({
        sealed: secrets!,
        place: sealedFor.transferSecrets(id),
        replace: (resealed) =>
          db.updateTable('transferEnds').set({ secrets: resealed }).where('id', '=', id).where('secrets', '=', secrets).execute(),
      }))
    },
  },
  {
    name: 'backupDestinations.secrets',
    async read(db) {
      const rows = await db.selectFrom('backupDestinations').select(['id', 'secrets']).where('secrets', 'is not', null).execute()
      return rows.map(({ id, secrets }) => ({
        sealed: secrets!,
        place: sealedFor.destinationSecrets(id),
        replace: (resealed) =>
          db
            .updateTable('backupDestinations')
            .set({ secrets: resealed })
            .where('id', '=', id)
            .where('secrets', '=', secrets)
            .execute(),
      }))
    },
  },
]
