import { lockfileHint } from './outdated-lockfile.ts'

/** Messages of resolvers about a host without an address. The first group is the host. */
const unresolved = [
  /\bgetaddrinfo (?:ENOTFOUND|EAI_AGAIN) ([\w.-]{1,253})/,
  /\bCould not resolve host: ([\w.-]{1,253})/,
  /\bFailed to resolve '([\w.-]{1,253})'/,
]

/** The reason of a failed build command, from one line of its output. Every line is checked: the first reason counts. */
export function failureHint(line: string): string | null {
  return lockfileHint(line) ?? unresolvedHint(line.slice(0, 2000))
}

function unresolvedHint(line: string): string | null {
  const host = unresolved.map((pattern) => pattern.exec(line)?.[1]).find(Boolean)
  return host ? `${host} could not be found in DNS. Check the network, the DNS and the proxy settings of this machine` : null
}
