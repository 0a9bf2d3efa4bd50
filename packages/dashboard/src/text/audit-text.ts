import type { AuditEntry } from '@berth/contract'
import { kindText } from './channel-text.ts'

/** Predicates by action. `{}` stands for the object, `{field}` for a field of the request. */
const predicates: Record<string, string> = {
  'POST /auth/login': 'signed in',
  'POST /auth/logout': 'signed out',
  'POST /auth/setup': 'set up this instance',
  'POST /auth/sign-up': 'requested to sign up',
  'POST /auth/sign-up/complete': 'signed up',
  'POST /auth/sign-up/invitations': 'invited {email} to sign up',
  'POST /auth/password': 'changed their password',
  'POST /auth/password/reset-request': 'requested a link to reset a password',
  'POST /auth/password/reset': 'reset their password with a link from an e-mail',
  'berth admin reset': 'reset the account {email} on the machine',
  'DELETE /auth/sessions/:id': 'ended one of their sessions',
  'POST /auth/totp': 'began to set up two-factor authentication',
  'POST /auth/totp/confirm': 'turned two-factor authentication on',
  'DELETE /auth/totp': 'turned two-factor authentication off',
  'POST /auth/passkeys/registration': 'began to add a passkey',
  'POST /auth/passkeys': 'added a passkey',
  'DELETE /auth/passkeys/:id': 'removed a passkey',
  'POST /auth/passkeys/sign-in': 'signed in with a passkey',
  'POST /tokens': 'created the access token {name}',
  'DELETE /tokens/:id': 'revoked an access token',
  'POST /organizations': 'created the organisation {name}',
  'PUT /quotas/:organizationId': 'changed the quotas of an organisation',
  'PATCH /organizations/:id': 'changed the organisation',
  'DELETE /organizations/:id': 'deleted the organisation',
  'PATCH /members/:userId': 'made a member {role}',
  'DELETE /members/:userId': 'removed a member',
  'POST /invitations': 'invited {email} as {role}',
  'DELETE /invitations/:id': 'revoked an invitation',
  'POST /invitations/accept': 'joined the organisation',
  'PUT /projects/:id/grants': 'set the access of a member to {}',
  'POST /projects': 'created the project {name}',
  'POST /catalogue/:templateId': 'created the project {} from a template',
  'POST /projects/ensure': 'created or updated the project {name}',
  'POST /projects/scan': 'scanned the folder {path}',
  'POST /projects/import': 'created a project from the folder {path}',
  'PATCH /projects/:id': 'changed {fields} of {}',
  'DELETE /projects/:id': 'deleted {}',
  'POST /projects/:id/environments': 'created the environment {name} of {}',
  'DELETE /projects/:id/environments/:environment': 'deleted the environment {}',
  'POST /projects/:id/preview-variables': 'changed which variables previews of {} get',
  'POST /projects/:id/options': 'changed the options {fields} of {}',
  'POST /projects/:id/enable': 'enabled {}',
  'POST /projects/:id/disable': 'disabled {}',
  'POST /projects/:id/routing/retry': 'synced the routes of {}',
  'PATCH /projects/:id/env': 'changed variables of {}',
  'PATCH /projects/:id/clone-token': 'changed the clone credential of {}',
  'POST /projects/:id/git/link': 'linked a repository to {}',
  'POST /projects/:id/auto-deploy': 'changed deploy on push of {}',
  'POST /projects/:id/webhook-domain': 'changed the webhook domain of {}',
  'POST /projects/:id/branch': 'set the branch of {} to {branch}',
  'PATCH /projects/:id/resources': 'changed the resources of {}',
  'POST /projects/:id/sleep-mode': 'set the sleep mode of {} to {sleepMode}',
  'POST /projects/:id/deployment-session': 'opened the deployment stream of {}',
  'POST /projects/:id/connect': 'added the domain {domain} to {}',
  'DELETE /projects/:id/domains/:hostname': 'removed the domain {}',
  'POST /projects/:id/domains/:hostname/verify': 'checked the DNS records of {}',
  'POST /projects/:id/domains/:hostname/primary': 'made {} the primary domain',
  'POST /projects/:id/route-rules': 'added a {kind} rule to {}',
  'PATCH /projects/:id/route-rules/:ruleId': 'changed a rule',
  'DELETE /projects/:id/route-rules/:ruleId': 'removed a rule',
  'POST /projects/folder/session': 'started an upload',
  'POST /projects/folder/upload/:sessionId': 'uploaded a folder',
  'POST /projects/folder/scan/:sessionId': 'scanned an uploaded folder',
  'POST /projects/:id/transfer/to-cloud': 'started the transfer of {} to the cloud',
  'POST /projects/:id/transfer/to-self-hosted': 'started the transfer of {} to this instance',
  'POST /deployments/build/access': 'deployed {projectId}',
  'POST /instance/storage/clean-up': 'cleaned up the build storage',
  'POST /deployments/:id/cancel': 'cancelled a deployment',
  'POST /deployments/:id/redeploy': 'redeployed a deployment',
  'POST /deployments/:id/rollback': 'rolled back to an earlier deployment',
  'POST /projects/:id/restart': 'restarted {}',
  'POST /projects/:id/exec': 'ran a command in {}',
  'POST /projects/:id/exec/:execId/input': 'sent input to a command',
  'POST /projects/:id/deploy-hooks': 'created the deploy hook {name}',
  'DELETE /projects/:id/deploy-hooks/:hookId': 'deleted a deploy hook',
  'POST /projects/:id/links': 'linked a project to {serviceProjectId}',
  'DELETE /projects/:id/links/:linkId': 'deleted a link to a service',
  'POST /projects/:id/cron-jobs': 'created the scheduled task {name}',
  'PATCH /projects/:id/cron-jobs/:cronJobId': 'changed a scheduled task',
  'DELETE /projects/:id/cron-jobs/:cronJobId': 'deleted a scheduled task',
  'POST /projects/:id/cron-jobs/:cronJobId/run': 'ran a scheduled task',
  'POST /hooks/deploy/:token': 'deployed with a deploy hook',
  'DELETE /projects/:id/volumes/:volumeId': 'deleted a volume and its data',
  'PUT /gitprovider/applications/:provider': 'saved the application of a git host',
  'DELETE /gitprovider/applications/:provider': 'removed the application of a git host',
  'POST /gitprovider/manifest': 'started the set-up of a GitHub App',
  'POST /gitprovider/manifest/conversion': 'set up a GitHub App',
  'POST /gitprovider/connect': 'connected a git host',
  'POST /gitprovider/handoffs': 'started a git host login for a linked instance',
  'POST /gitprovider/handoffs/collect': 'completed a git host login for a linked instance',
  'POST /gitprovider/handoffs/refresh': 'renewed a git host login of a linked instance',
  'POST /gitprovider/disconnect': 'disconnected a git host',
  'POST /gitprovider/repos': 'created the repository {name}',
  'DELETE /gitprovider/repos/:owner/:repo': 'deleted the repository {}',
  'POST /gitprovider/repos/:owner/:repo/webhooks': 'registered a webhook',
  'DELETE /gitprovider/repos/:owner/:repo/webhooks': 'removed a webhook',
  'POST /webhooks/git/:provider': 'sent a webhook of the git host',
  'POST /projects/:id/pull-requests/:number/approve': 'approved the preview of a pull request',
  'POST /notifications/channels': 'created a notification channel ({kind})',
  'PATCH /notifications/channels/:id': 'changed a notification channel',
  'DELETE /notifications/channels/:id': 'deleted a notification channel',
  'POST /notifications/channels/:id/test': 'tested a notification channel',
  'PUT /notifications/subscriptions': 'changed a subscription to {category}',
  'DELETE /notifications/subscriptions/:id': 'reset a subscription',
  'PUT /notifications/defaults': 'changed the default for {category}',
  'POST /notifications/deliveries/:id/seen': 'marked a notification as seen',
  'POST /projects/:projectId/backup-policies': 'added a backup policy to {}',
  'PATCH /backup-policies/:policyId': 'changed {fields} of a backup policy',
  'DELETE /backup-policies/:policyId': 'deleted a backup policy',
  'POST /backup-policies/:policyId/run': 'started a backup',
  'POST /backup-runs/:runId/protect': 'changed the protection of a backup',
  'POST /backup-runs/:runId/restore/prepare': 'staged a restore',
  'POST /backup-restores/:restoreId/apply': 'applied a restore',
  'POST /backup-restores/:restoreId/cancel': 'cancelled a restore',
  'PUT /instance/backup-policy': 'changed the backup schedule of the instance',
  'DELETE /instance/backup-policy': 'removed the backup schedule of the instance',
  'POST /instance/backups': 'started a backup of the instance',
  'POST /webhooks/backup': 'started a backup with a webhook',
  'POST /backup-runs/:runId/cancel': 'cancelled a backup',
  'POST /backup-destinations': 'added the backup destination {name}',
  'PATCH /backup-destinations/:id': 'changed a backup destination',
  'DELETE /backup-destinations/:id': 'deleted a backup destination',
  'POST /backup-destinations/:id/check': 'tested a backup destination',
  'POST /servers': 'added the server {name}',
  'PATCH /servers/:id': 'changed a server',
  'DELETE /servers/:id': 'removed a server',
  'POST /servers/:id/check': 'checked the connection to a server',
  'POST /registries': 'saved the registry login for {host}',
  'DELETE /registries/:registryId': 'removed a registry login',
  'POST /migration/scan': 'scanned a server',
  'POST /migration/adopt': 'adopted services of a server as {projectName}',
  'DELETE /transfers/:id': 'cancelled a transfer',
  'POST /projects/:id/departure': 'started the export of {}',
  'PATCH /departures/:id': 'continued an export',
  'PUT /arrivals/:id': 'started an import',
  'PATCH /arrivals/:id': 'continued an import',
  'PUT /arrivals/:id/files/:file': 'sent a file of an import',
  'PUT /cloud/link': 'linked this instance to the cloud',
  'DELETE /cloud/link': 'removed the link to the cloud',
}

/** Ids of objects other than projects: created ones have no name here, and the sentence is complete without them. */
const childId = /^(?!prj_)[a-z]{3}_[a-z0-9]{20}$/

/** Kinds of channels and of rules. */
const kindNames: Record<string, string> = {
  ...kindText,
  ban: 'block',
  'rate-limit': 'rate limit',
  'allow-deny': 'allow or refuse',
}

const maxNames = 4
const maxFieldCharacters = 80

/**
 * The sentence of an audit log entry without its user: `changed variables of shop: added or changed API_KEY`. An action of another
 * release without a predicate is shown as its method and path.
 */
export function auditText(
  { action, objectId, changes }: Pick<AuditEntry, 'action' | 'objectId' | 'changes'>,
  nameOf: (id: string) => string | undefined,
): string {
  const predicate = predicates[action]
  if (!predicate) return action
  const named = (id: unknown) => (typeof id === 'string' && id ? (nameOf(id) ?? id) : 'it')
  const fieldText = (field: string) => {
    if (field === 'fields') return listText(Object.keys(changes).map(readable)) || 'settings'
    if (field === 'projectId' || field === 'serviceProjectId') return named(changes[field])
    if (field === 'kind') return kindNames[String(changes.kind)] ?? plainText(changes.kind)
    return plainText(changes[field])
  }
  const text = predicate.replace(/((?: of| to)? )?\{(\w*)\}/g, (_, before = '', field: string) => {
    if (field === '') return objectId && childId.test(objectId) && !nameOf(objectId) ? '' : before + named(objectId)
    return before + fieldText(field)
  })
  return [text.replace(/\s+/g, ' ').trim(), ...(action === 'PATCH /projects/:id/env' ? [variableText(changes)] : [])]
    .filter(Boolean)
    .join(': ')
}

/** Whether there is a sentence for the action. */
export const hasAuditText = (action: string): boolean => action in predicates

/** The choices of the filter, in alphabetical order: `changed variables of …`. */
export const auditChoices = (): { value: string; label: string }[] =>
  Object.entries(predicates)
    .map(([value, predicate]) => ({
      value,
      label: predicate.replace(/^(changed) {fields}/, '$1 settings').replace(/\{\w*\}/g, '…'),
    }))
    .sort((one, other) => one.label.localeCompare(other.label))

function variableText(changes: AuditEntry['changes']): string {
  const upserts = Array.isArray(changes.upserts) ? changes.upserts : []
  const set = upserts.flatMap((one) => (typeof one?.key === 'string' ? [one.key as string] : []))
  const removed = Array.isArray(changes.deletes) ? changes.deletes.filter((one) => typeof one === 'string') : []
  return [set.length > 0 && `set ${listText(set)}`, removed.length > 0 && `removed ${listText(removed)}`]
    .filter(Boolean)
    .join(', ')
}

const listText = (names: readonly string[]): string =>
  names.length > maxNames ? `${names.slice(0, maxNames).join(', ')} and ${names.length - maxNames} more` : names.join(', ')

/** `healthCheck` → `health check`. */
const readable = (field: string) => field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

function plainText(value: unknown): string {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  return text.length > maxFieldCharacters ? `${text.slice(0, maxFieldCharacters - 1).trimEnd()}…` : text
}
