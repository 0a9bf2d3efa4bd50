import type { CloudAddress, CloudApi } from '../../drivers/cloud-api/cloud-api.ts'
import { refuse } from '../../platform/failure.ts'
import { requestCloud, requestWithAnyToken } from './request-cloud.ts'

export interface Account {
  organizationId: string
  expiresAt: number | null
}

/** Checks that the URL is a cloud, and which account the token belongs to. A link is stored only after both checks. */
export async function proveAccount(api: CloudApi, address: CloudAddress): Promise<Account> {
  const health = await requestWithAnyToken(api, { ...address, token: 'none' }, { method: 'GET', path: '/api/health' })
  if (health.body?.data?.mode !== 'cloud')
    refuse('url', 'is a Berth instance, but not a cloud. Use the URL of an instance with BERTH_MODE=cloud.')
  const session = await requestWithAnyToken(api, address, { method: 'GET', path: '/api/auth/session' })
  if (session.status === 401)
    refuse('token', 'is unknown to the cloud. Create a token there, in its dashboard or with POST /tokens.')
  const { organization, expiresAt, needsSecondFactor } = session.body?.data ?? {}
  if (needsSecondFactor)
    refuse(
      'token',
      'belongs to a user without two-factor authentication, which the cloud organisation requires. Set it up there.',
    )
  if (session.status !== 200 || typeof organization?.id !== 'string') refuse('token', 'has no user at the cloud')
  return { organizationId: organization.id, expiresAt: expiresAt ? Date.parse(expiresAt) : null }
}

/** Whether the cloud responds and still accepts the token. */
export async function isReachable(api: CloudApi, address: CloudAddress): Promise<boolean> {
  try {
    const { status, body } = await requestCloud(api, address, { method: 'GET', path: '/api/auth/session' })
    return status === 200 && !body?.data?.needsSecondFactor
  } catch {
    return false
  }
}
