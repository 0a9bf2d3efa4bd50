import type { Secret } from '../../platform/secrets/secret.ts'

/** How an organisation signs in at one registry. The password goes to that host alone. */
export interface RegistryLogin {
  /** As `registryName` spells it. */
  host: string
  username: string
  password: Secret
}
