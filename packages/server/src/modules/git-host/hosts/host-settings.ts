import type { Secret } from '../../../platform/secrets/secret.ts'

/** The application at a git host that this instance signs in with, and the address of the host. */
export interface HostSettings {
  webUrl: string
  clientId: string | null
  clientSecret: Secret | null
  appId: number | null
  appSlug: string | null
  privateKey: Secret | null
  webhookSecret: Secret | null
}

export const hasApplication = ({ clientId, appId }: HostSettings): boolean => clientId !== null || appId !== null
