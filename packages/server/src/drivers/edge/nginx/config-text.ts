import { isIP } from 'node:net'

/*
 * The only ways in which a value reaches the configuration of nginx. Each accepts a set of characters that has no meaning to nginx's
 * parser; there is no escaping that a value could break out of.
 */

/** A host name without wildcard, as `server_name` takes it literally. A name that begins with a dot or tilde is a pattern to nginx. */
export const isPlainHostname = (name: string): boolean =>
  name.length <= 253 && /^[0-9a-z_](?:[0-9a-z_-]*[0-9a-z_])?(?:\.[0-9a-z_](?:[0-9a-z_-]*[0-9a-z_])?)*$/.test(name)

/** The name of a certificate: a host name, or a wildcard of one label. */
export const isCertificateName = (name: string): boolean => isPlainHostname(name.startsWith('*.') ? name.slice(2) : name)

/** An address and port for `listen` and `server`. Undefined if the host is not a literal address or the port is invalid. */
export function addressText(host: string, port: number): string | undefined {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return undefined
  const version = isLiteralAddress(host) ? isIP(host) : 0
  if (version === 0) return undefined
  return version === 4 ? `${host}:${port}` : `[${host}]:${port}`
}

/** An address or range for `geo` and `set_real_ip_from`. */
export function rangeText(range: string): string | undefined {
  const [address = '', prefix, ...others] = range.split('/')
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (isIP(address) === 4 ? 32 : 128))
  return isLiteralAddress(address) && isPrefix && others.length === 0 ? range : undefined
}

/** A zone (`fe80::1%eth0`) may hold any characters. */
const isLiteralAddress = (host: string) => isIP(host) !== 0 && /^[0-9A-Fa-f.:]+$/.test(host)

/** Any text as letters, digits, `-` and `_`. */
export const encodedText = (text: string): string => Buffer.from(text, 'utf8').toString('base64url')

/** Milliseconds as a time of nginx, which has no fractions. */
export const timeText = (ms: number): string => `${Math.max(1, Math.round(ms))}ms`
