import { hostname } from 'node:os'

export interface SmtpSettings {
  host: string
  port: number
  /** TLS from the first byte (`smtps:`). */
  secure: boolean
  /** Requires STARTTLS. Off on loopback, which cannot be intercepted, and with `?tls=optional` for a relay without TLS. */
  requireTls: boolean
  /** Verifies the server's certificate; off only on loopback, where a mail server usually has a self-signed one. */
  verifyCertificate: boolean
  /** The name in the certificate when the host is an IP address: `?servername=`. */
  servername: string | undefined
  login: { user: string; pass: string } | undefined
  from: { name: string; address: string }
}

/** Parses `smtp[s]://[user:password@]host[:port][?from=…&tls=optional&servername=…]`. The error never contains the URL. */
export function parseSmtpUrl(text: string, from?: string): SmtpSettings {
  const url = URL.parse(text)
  if (!url?.hostname || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:')) throw new SmtpUrlInvalid()
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const secure = url.protocol === 'smtps:'
  const onLoopback = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
  const user = decoded(url.username)
  return {
    host,
    port: url.port ? Number(url.port) : secure ? 465 : 587,
    secure,
    requireTls: !secure && !onLoopback && url.searchParams.get('tls') !== 'optional',
    verifyCertificate: !onLoopback,
    servername: url.searchParams.get('servername') ?? undefined,
    login: user ? { user, pass: decoded(url.password) } : undefined,
    from: sender(from ?? url.searchParams.get('from') ?? (user.includes('@') ? user : `berth@${onLoopback ? hostname() : host}`)),
  }
}

export class SmtpUrlInvalid extends Error {
  override readonly name = 'SmtpUrlInvalid'

  constructor() {
    super('must be smtp://user:password@host:port or smtps://…, with special characters written as %XX')
  }
}

/** `Name <address>` or an address alone. */
function sender(text: string): SmtpSettings['from'] {
  const [, name = '', address = ''] = /^([^<>]*)<([^<>\s]+@[^<>\s]+)>\s*$/.exec(text) ?? /^()(\S+@\S+)$/.exec(text.trim()) ?? []
  if (!address) throw new SmtpUrlInvalid()
  return { name: name.replace(/["\p{Cc}]/gu, '').trim() || 'Berth', address }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new SmtpUrlInvalid()
  }
}
