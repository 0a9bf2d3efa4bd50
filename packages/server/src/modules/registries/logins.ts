import type { RegistryLoginBody, RegistryLogin as ShownLogin } from '@berth/contract'
import { registryName } from '../../drivers/registry/image-name.ts'
import type { RegistryLogin } from '../../drivers/registry/registry-login.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import { iso } from '../../platform/db/columns.ts'
import { newId } from '../../platform/db/ids.ts'
import { sealedFor } from '../../platform/db/sealed-columns.ts'
import type { RegistryLoginRow } from '../../platform/db/tables/registries.ts'
import { describeWrite } from '../../platform/db/write-record.ts'
import { fail, refuse } from '../../platform/failure.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import { allLoginsOf, findLoginAt, insertLogin, replaceLogin } from './store.ts'

export interface RegistriesDeps {
  database: Database
  clock: Clock
  secretBox: SecretBox
  /** Receives passwords before they are used, so that they are redacted from the log. */
  scrubber: Pick<Scrubber, 'register'>
  settings: {
    /** Registries that images may be fetched from; null: any. */
    registries: readonly string[] | null
  }
}

/** Records the login for a host, or replaces the one that the organisation has for it. Nothing is contacted. */
export async function saveLogin(
  { host: input, username, password }: RegistryLoginBody,
  organizationId: string,
  deps: RegistriesDeps,
): Promise<{ login: ShownLogin; isNew: boolean }> {
  const host = registryName(input)
  const { registries } = deps.settings
  if (registries && !registries.includes(host))
    refuse('host', `this instance does not pull images from ${host}. Allowed registries: ${registries.join(', ')}`)
  deps.scrubber.register(password)
  const now = deps.clock.now().getTime()
  const { db } = deps.database
  const sealedAs = (id: string) => deps.secretBox.seal(password, sealedFor.registryPassword(id, host))
  const existing = await findLoginAt(db, organizationId, host)
  if (existing) {
    describeWrite({ objectId: existing.id })
    const row = await replaceLogin(db, existing.id, { username, password: sealedAs(existing.id), updatedAt: now })
    return row ? { login: showLogin(row), isNew: false } : fail('not_found')
  }
  const id = newId('reg')
  const row = { id, organizationId, host, username, password: sealedAs(id), createdAt: now, updatedAt: now }
  if (await insertLogin(db, row)) return { login: showLogin(row), isNew: true }
  return fail('conflict', {
    message: `Another request has just added a login for ${host}. Send the request again to replace it.`,
  })
}

export const showLogin = ({ id, host, username, createdAt, updatedAt }: RegistryLoginRow): ShownLogin => ({
  ...{ id, host, username },
  createdAt: iso(createdAt),
  updatedAt: iso(updatedAt),
})

/** The logins of an organisation, decrypted. They may be used for its own projects only. */
export const openLogins = async (organizationId: string, deps: RegistriesDeps): Promise<RegistryLogin[]> =>
  (await allLoginsOf(deps.database.db, [organizationId])).map((row) => openLogin(row, deps))

/** The logins of several organisations, by organisation. */
export async function openLoginsOfEach(
  organizationIds: readonly string[],
  deps: RegistriesDeps,
): Promise<ReadonlyMap<string, RegistryLogin[]>> {
  const logins = new Map<string, RegistryLogin[]>()
  for (const row of await allLoginsOf(deps.database.db, organizationIds))
    logins.set(row.organizationId, [...(logins.get(row.organizationId) ?? []), openLogin(row, deps)])
  return logins
}

/** Decryption fails for a row whose host was changed: the password is encrypted for its host. */
function openLogin({ id, host, username, password: sealed }: RegistryLoginRow, deps: RegistriesDeps): RegistryLogin {
  const password = deps.secretBox.open(sealed, sealedFor.registryPassword(id, host))
  deps.scrubber.register(password)
  return { host, username, password }
}
