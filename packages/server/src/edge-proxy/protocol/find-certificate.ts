/** The entry whose certificate covers the host name: its own, or the wildcard of its parent. */
export function findCertificate(certificates: { has(hostname: string): boolean }, hostname: string): string | undefined {
  if (certificates.has(hostname)) return hostname
  const dot = hostname.indexOf('.')
  const wildcard = dot === -1 ? undefined : `*${hostname.slice(dot)}`
  return wildcard !== undefined && certificates.has(wildcard) ? wildcard : undefined
}
