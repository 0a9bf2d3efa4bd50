import { isIP } from 'node:net'

/** The authentication that a registry requests in `WWW-Authenticate`. */
export type Challenge = { kind: 'basic' } | { kind: 'bearer'; realm: URL; service: string | null }

/** Null when the header has no supported scheme. */
export function parseChallenge(header: string | undefined): Challenge | null {
  const bearer = /\bBearer\s+(.*)$/is.exec(header ?? '')?.[1]
  if (bearer !== undefined) {
    const parameters = new Map(
      [...bearer.matchAll(/([a-z_]+)\s*=\s*"([^"]*)"/gi)].map(([, name = '', value = '']) => [name.toLowerCase(), value]),
    )
    const realm = URL.parse(parameters.get('realm') ?? '')
    return realm && { kind: 'bearer', realm, service: parameters.get('service') ?? null }
  }
  return /\bBasic\b/i.test(header ?? '') ? { kind: 'basic' } : null
}

/**
 * Whether a registry's password may be sent to the token server that the registry names: the registry itself, or over
 * https a host of the same domain (`registry.example.com` and `gitlab.example.com`). No other host gets the password.
 */
export function mayGetPassword(realm: URL, registry: URL): boolean {
  if (realm.origin === registry.origin) return true
  if (realm.protocol !== 'https:' || realm.port !== '') return false
  const domain = domainOf(registry.hostname)
  return domain !== null && (realm.hostname === domain || realm.hostname.endsWith(`.${domain}`))
}

/** The parent domain of a host; null for an IP address and for a host directly below a top-level domain. */
function domainOf(hostname: string): string | null {
  if (isIP(hostname) !== 0 || hostname.startsWith('[')) return null
  const labels = hostname.split('.')
  return labels.length < 3 ? null : labels.slice(1).join('.')
}

export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname.endsWith('.localhost') || /^127\./.test(hostname) || hostname === '[::1]'
