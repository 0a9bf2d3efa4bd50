import type { Secret } from '../../platform/secrets/secret.ts'
import { RemoteRefused } from './git-errors.ts'

export interface GitRemote {
  /** https://host/path, ssh://user@host/path or user@host:path; http only to the machine itself and to allowed hosts. */
  url: string
  /** Credential for https. Most hosts ignore the user name, but it must not be empty. */
  credential?: { username?: string; token: Secret }
  /** Private key for ssh, without a passphrase. */
  sshKey?: Secret
}

/** A remote that has passed every check: no part of it can be read as an option, a command or a credential. */
export interface RemoteAddress {
  scheme: 'https' | 'http' | 'ssh'
  host: string
  port: number
  url: string
  /** host/path, for messages. */
  shown: string
}

const maxUrlLength = 2_048

export function parseRemote(url: string, allowedHttpHosts: readonly string[] = []): RemoteAddress {
  if (url.length > maxUrlLength) throw new RemoteRefused('is too long')
  if (/[\0-\x20\x7f-\x9f\\"'`]|\p{Cf}/u.test(url))
    throw new RemoteRefused('contains a space, a quote, a backslash or an invisible character')
  if (url.startsWith('-')) throw new RemoteRefused('starts with a dash')
  if (/^[a-z0-9+.-]*::/i.test(url)) throw new RemoteRefused('names a transport program')
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase()
  if (scheme === 'https' || scheme === 'http') return parseWeb(url, scheme, allowedHttpHosts)
  if (scheme === 'ssh') return parseSsh(url)
  if (scheme !== undefined) throw new RemoteRefused(`has the scheme ${scheme}; https and ssh are supported`)
  return parseScpLike(url)
}

function parseWeb(url: string, scheme: 'https' | 'http', allowedHttpHosts: readonly string[]): RemoteAddress {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (!parsed) throw new RemoteRefused('is not a valid URL')
  if (parsed.username || parsed.password || parsed.host === '' || /^[^/]*\/\/[^/]*@/.test(url)) {
    throw new RemoteRefused('contains a user name or password; set the token separately')
  }
  if (parsed.search || parsed.hash || url.includes('?') || url.includes('#')) throw new RemoteRefused('contains ? or #')
  if (parsed.pathname === '/') throw new RemoteRefused('has no repository path')
  const { hostname: host, pathname } = parsed
  if (scheme === 'http' && !isLoopback(host) && !allowedHttpHosts.includes(host)) {
    throw new RemoteRefused('is not encrypted; use https')
  }
  const port = parsed.port === '' ? (scheme === 'https' ? 443 : 80) : Number(parsed.port)
  return { scheme, host, port, url: parsed.href, shown: `${parsed.host}${pathname}` }
}

const name = '[A-Za-z0-9_](?:[A-Za-z0-9._+-]*)'
const host = '[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?'
const sshUrl = new RegExp(`^ssh://(?:(${name})@)?(${host}|\\[[0-9A-Fa-f:.]+\\])(?::([0-9]{1,5}))?(/.*)?$`, 'i')
const scpLike = new RegExp(`^(?:(${name})@)?(${host}):(.+)$`)

function parseSsh(url: string): RemoteAddress {
  const [, user, givenHost, givenPort, path] = sshUrl.exec(url) ?? []
  if (givenHost === undefined) {
    if (/^ssh:\/\/[^/]*:[^/]*@/i.test(url)) throw new RemoteRefused('contains a password; set the key separately')
    throw new RemoteRefused('is not a valid URL')
  }
  const port = givenPort === undefined ? 22 : Number(givenPort)
  if (port < 1 || port > 65_535) throw new RemoteRefused('has an invalid port')
  if (path === undefined || path === '/') throw new RemoteRefused('has no repository path')
  const host = givenHost.replace(/^\[|\]$/g, '').toLowerCase()
  const hostAndPort = `${givenHost.toLowerCase()}${givenPort === undefined ? '' : `:${port}`}`
  return {
    scheme: 'ssh',
    host,
    port,
    url: `ssh://${user ? `${user}@` : ''}${hostAndPort}${path}`,
    shown: `${hostAndPort}${path}`,
  }
}

/** Parses git@host:owner/repo.git. A word without a dot before the colon is more often a drive or a path than a host. */
function parseScpLike(url: string): RemoteAddress {
  const [, user, givenHost, path] = scpLike.exec(url) ?? []
  if (givenHost === undefined || path === undefined || (user === undefined && !givenHost.includes('.'))) {
    throw new RemoteRefused('is not a git repository URL; use https://host/path or git@host:path')
  }
  if (path.startsWith('-')) throw new RemoteRefused('has a path that starts with a dash')
  const host = givenHost.toLowerCase()
  return {
    scheme: 'ssh',
    host,
    port: 22,
    url: `${user ? `${user}@` : ''}${host}:${path}`,
    shown: `${host}/${path.replace(/^\//, '')}`,
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}
