import type { RequestContext } from '../../../http/handler.ts'
import { fail } from '../../../platform/failure.ts'
import { hashToken } from '../../../platform/secrets/token.ts'
import type { BackupsDeps } from '../deps.ts'
import { findByWebhook } from '../policy-store.ts'
import { startRun } from '../runs/start-run.ts'

/**
 * Starts a run by webhook token. Every failure is the same 404. The lookup is by the token's hash, so timing does not disclose
 * how close a guess was. While a run of the policy is under way, one more is queued: it saves the changes since.
 */
export async function runByWebhook({ headers }: Pick<RequestContext, 'headers'>, deps: BackupsDeps): Promise<string> {
  const [, token] = /^Bearer +(\S{1,200})$/i.exec(String(headers.authorization ?? '')) ?? []
  if (!token) return fail('not_found')
  const policy = await findByWebhook(deps.database.db, hashToken(token))
  if (!policy) return (await deps.ports.runInCloud?.(token).catch(() => null)) ?? fail('not_found')
  if (!policy.enabled) return fail('not_found')
  const run = await startRun(policy.id, { trigger: 'webhook', createdBy: null }, deps)
  return run.id
}
