import type { ConnectError } from '@berth/contract'
import type { RequestContext } from '../../../http/handler.ts'
import { Failure } from '../../../platform/failure.ts'

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (mark) => `&#${mark.codePointAt(0)};`).replace(/\p{Cf}/gu, '')

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem;color:#1a1a1a;background:#fff}' +
  'a.go{display:inline-block;margin-top:1rem;padding:.6rem 1.2rem;border-radius:.4rem;background:#1c6fd6;color:#fff;text-decoration:none}' +
  '@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}}'

const page = (title: string, body: string) =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)} · Berth</title><style>${style}</style></head><body><h1>${escapeHtml(title)}</h1>${body}</body></html>`

/** A failed redirect from the git host: the reason, and what to do next. */
export class ConnectFailed extends Failure {
  readonly reason: ConnectError

  constructor(reason: ConnectError, text: string, field = 'state') {
    super('validation_failed', { message: text, field, details: [{ field, message: text }] })
    this.reason = reason
  }
}

const titles: Partial<Record<ConnectError, string>> = {
  expired: 'This link has expired',
  waiting_for_owner: 'Waiting for an owner',
}

const failurePage = ({ message }: Failure, reason: ConnectError): string =>
  page(titles[reason] ?? 'Not connected', `<p>${escapeHtml(message)}</p><a class="go" href="/git">Back to Berth</a>`)

/**
 * Shows a failure to a browser: on the git page of the dashboard for a signed-in user, else as a page of its own. The address of
 * the git page has a code only, so that a link cannot put text of an attacker into the dashboard. Other clients get the error.
 */
export function showFailure(error: unknown, { headers, isSignedIn, redirect, page: send }: FailureContext): void {
  const wantsPage = String(headers.accept ?? '').includes('text/html')
  if (!(error instanceof Failure) || error.code === 'internal' || !wantsPage) throw error
  const reason = reasonOf(error)
  if (isSignedIn) redirect(`/git?error=${reason}`)
  else send(failurePage(error, reason), error.status)
}

type FailureContext = Pick<RequestContext, 'headers' | 'isSignedIn' | 'redirect' | 'page'>

const reasons: Partial<Record<string, ConnectError>> = {
  remote_unreachable: 'unreachable',
  cloud_unreachable: 'unreachable',
  git_host_limited: 'limited',
  forbidden: 'forbidden',
}

const reasonOf = (error: Failure): ConnectError =>
  error instanceof ConnectFailed ? error.reason : (reasons[error.code] ?? 'rejected')

export interface Consent {
  host: string
  organization: string
  /** The other instance that is to receive the login; null: this one. */
  instance: string | null
  state: string
}

/** Consent page for a browser without a known session: an attacker may have sent the link. */
export const consentPage = ({ host, organization, instance, state }: Consent): string =>
  page(
    `Connect ${host}?`,
    `<p>${requester(organization, instance)} asks to use your account at ${escapeHtml(host)}: to read and
write its repositories. Go on only if you have started this yourself a moment ago. If you followed a link from another person, close this page.</p>
<a class="go" rel="nofollow noreferrer" href="/api/gitprovider/connect/redirect?state=${encodeURIComponent(state)}">Connect it to ${escapeHtml(instance ?? organization)}</a>`,
  )

const requester = (organization: string, instance: string | null): string =>
  instance === null
    ? `The organisation <b>${escapeHtml(organization)}</b> on this Berth`
    : `The Berth at <b>${escapeHtml(instance)}</b>, which the organisation <b>${escapeHtml(organization)}</b> has linked to this cloud,`
