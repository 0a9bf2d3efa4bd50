import type { GitHostProvider } from '@berth/contract'
import { type Static, Type } from 'typebox'
import { sealedJson } from '../../../platform/db/json-columns/json-column.ts'
import { orNull } from '../../../platform/db/json-columns/shapes.ts'
import { preparedQuery } from '../../../platform/db/prepared.ts'
import type { Db } from '../../../platform/db/schema.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { GitApplicationRow } from '../../../platform/db/tables/git-host.ts'
import { Secret } from '../../../platform/secrets/secret.ts'
import type { SecretBox } from '../../../platform/secrets/secret-box.ts'
import type { HostSettings } from './host-settings.ts'

const StoredSecrets = Type.Object({
  clientSecret: Type.String(),
  privateKey: orNull(Type.String()),
  webhookSecret: orNull(Type.String()),
})
const storedSecrets = sealedJson('gitApplications.secrets', StoredSecrets)

/** Read before every use of a git host, so that a change counts at once on every control plane. */
const allApplications = preparedQuery<Record<string, never>, GitApplicationRow>((db) =>
  db.selectFrom('gitApplications').selectAll().orderBy('provider'),
)
export const listApplicationRows = async (db: Db): Promise<readonly GitApplicationRow[]> => allApplications.all(db, {})

export const findApplication = (db: Db, provider: GitHostProvider): Promise<GitApplicationRow | undefined> =>
  db.selectFrom('gitApplications').selectAll().where('provider', '=', provider).executeTakeFirst()

export async function putApplication(db: Db, row: GitApplicationRow): Promise<void> {
  const { provider: _, createdAt: __, ...changed } = row
  await db
    .insertInto('gitApplications')
    .values(row)
    .onConflict((conflict) => conflict.column('provider').doUpdateSet(changed))
    .execute()
}

export const deleteApplication = (db: Db, provider: GitHostProvider): Promise<GitApplicationRow | undefined> =>
  db.deleteFrom('gitApplications').where('provider', '=', provider).returningAll().executeTakeFirst()

export function sealApplication(provider: GitHostProvider, settings: HostSettings, secretBox: SecretBox): string {
  const secrets: Static<typeof StoredSecrets> = {
    clientSecret: settings.clientSecret?.reveal() ?? '',
    privateKey: settings.privateKey?.reveal() ?? null,
    webhookSecret: settings.webhookSecret?.reveal() ?? null,
  }
  return secretBox.seal(JSON.stringify(secrets), sealedFor.gitApplication(provider, settings.webUrl))
}

const secretOrNull = (text: string | null): Secret | null => (text === null ? null : new Secret(text))

/** Decryption fails for a row whose URL was changed: the secrets are sealed for their host. */
export function openApplication(row: GitApplicationRow, secretBox: SecretBox): HostSettings {
  const { provider, url, appId, appSlug, clientId } = row
  const opened = storedSecrets(secretBox.open(row.secrets, sealedFor.gitApplication(provider, url)).reveal(), provider)
  return {
    ...{ webUrl: url, appId, appSlug, clientId },
    clientSecret: new Secret(opened.clientSecret),
    privateKey: secretOrNull(opened.privateKey),
    webhookSecret: secretOrNull(opened.webhookSecret),
  }
}
