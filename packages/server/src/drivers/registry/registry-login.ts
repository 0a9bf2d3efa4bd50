import type { Secret } from '../../platform/secrets/secret.ts'

/** Credentials of an organisation for one registry. The password is sent only to that host. */
export interface RegistryLogin {
  /** Host as `registryName` spells it. */
  host: string
  username: string
  password: Secret
}
