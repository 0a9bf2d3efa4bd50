import { BlockList, isIP } from 'node:net'
import { delimiter, resolve } from 'node:path'
import { Secret } from '../../platform/secrets/secret.ts'

/** A kind of setting: a description of valid values, and a parser that returns undefined for invalid ones. */
export interface ValueKind<T> {
  readonly accepts: string
  readonly secret?: boolean
  parse(text: string, location: { home: string }): T | undefined
}

export const oneOf = <const T extends string>(...values: T[]): ValueKind<T> => ({
  accepts: values.length === 2 ? values.join(' or ') : `one of ${values.join(', ')}`,
  parse: (text) => values.find((value) => value === text),
})

export const wholeNumber = (min: number, max: number): ValueKind<number> => ({
  accepts: `a whole number from ${min} to ${max}`,
  parse: (text) => (/^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined),
})

export const port = wholeNumber(0, 65535)

const yes = ['true', '1', 'yes', 'on']
const no = ['false', '0', 'no', 'off']
export const yesOrNo: ValueKind<boolean> = {
  accepts: 'true or false (also 1 or 0, yes or no, on or off)',
  parse: (text) => (yes.includes(text.toLowerCase()) ? true : no.includes(text.toLowerCase()) ? false : undefined),
}

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const isDomain = (text: string) => text.length <= 253 && text.split('.').every((part) => label.test(part))
const lowerCase = (text: string) => text.toLowerCase().replace(/\.$/, '')

export const domain: ValueKind<string> = {
  accepts: 'a domain name such as apps.example.com',
  parse: (text) => (isDomain(lowerCase(text)) && !isIP(text) ? lowerCase(text) : undefined),
}

export const listenAddress: ValueKind<string> = {
  accepts: 'an IP address or a host name to listen on',
  parse: (text) => (isIP(text) ? text : isDomain(lowerCase(text)) ? lowerCase(text) : undefined),
}

export const hostAndPort: ValueKind<string> = {
  accepts: 'a host name with an optional port, such as hooks.example.com:8443',
  parse: (text) => {
    const [host = '', portText, ...rest] = text.split(':')
    const fits = rest.length === 0 && isDomain(lowerCase(host)) && (portText === undefined || port.parse(portText, { home: '' }))
    return fits ? text.toLowerCase() : undefined
  },
}

export const nameServers: ValueKind<readonly string[]> = {
  accepts: 'comma-separated name server addresses with optional ports, such as 1.1.1.1,[::1]:5353',
  parse: (text) => {
    const servers = text.split(',').map((server) => server.trim())
    const isServer = (server: string) => {
      const [, v6, v4, portText = '53'] = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(server) ?? []
      return isIP(v6 ?? v4 ?? server) !== 0 && Number(portText) <= 65535
    }
    return servers.every(isServer) ? Object.freeze(servers) : undefined
  },
}

export const hosts: ValueKind<readonly string[]> = {
  accepts: 'comma-separated host names with optional ports',
  parse: (text) => {
    const parts = text.split(',').map((part) => hostAndPort.parse(part.trim(), { home: '' }))
    return parts.every((part) => part !== undefined) ? Object.freeze(parts) : undefined
  },
}

export const imageMirror: ValueKind<string> = {
  accepts: 'a registry to fetch base images from, without https://, such as registry.example.com:5000/mirror',
  parse: (text) => (/^[a-z0-9][a-z0-9.-]*(:\d{1,5})?(\/[a-z0-9._-]+)*$/.test(text) ? text : undefined),
}

export const image: ValueKind<string> = {
  accepts: 'an image such as node:24 or registry.example.com/team/node:24',
  parse: (text) =>
    /^[a-z0-9][a-z0-9.-]*(:\d{1,5})?(\/[a-z0-9._-]+)*(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/.test(text) ? text : undefined,
}

export const emailAddress: ValueKind<string> = {
  accepts: 'an e-mail address',
  parse: (text) => (/^[^\s@<>,;]+@[^\s@<>,;]+$/.test(text) && text.length <= 254 ? text : undefined),
}

/** A web address. `originOnly` rejects a path, because code that builds URLs from it would drop the path silently. */
export const webAddress = ({ originOnly = false } = {}): ValueKind<string> => ({
  accepts: `an http:// or https:// address${originOnly ? ' without a path' : ''}`,
  parse: (text) => {
    const url = URL.parse(text)
    if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) return undefined
    if (originOnly && url.pathname !== '/') return undefined
    return url.href.replace(/\/+$/, '')
  },
})

/** A URL with a password, so the whole is a secret. */
export const secretUrl = (accepts: string, ...protocols: string[]): ValueKind<Secret> => ({
  accepts,
  secret: true,
  parse: (text) => (protocols.includes(URL.parse(text)?.protocol ?? '') ? new Secret(text.trim()) : undefined),
})

export const secretText = ({ min = 1, max = 1000 } = {}): ValueKind<Secret> => ({
  accepts: `${min} to ${max} characters`,
  secret: true,
  parse: (text) => (text.length >= min && text.length <= max ? new Secret(text) : undefined),
})

export const secretKeys: ValueKind<Secret> = {
  accepts: 'a key of at least 16 characters, or several comma-separated keys, the newest first',
  secret: true,
  parse: (text) => (text.split(',').every((key) => key.trim().length >= 16) ? new Secret(text) : undefined),
}

/** A private key. Some environment files cannot contain newlines, so `\n` as two characters and base64 are accepted too. */
export const privateKey: ValueKind<Secret> = {
  accepts: 'a private key in PEM (newlines may be written as \\n), or its base64',
  secret: true,
  parse: (text) => {
    const isPem = (candidate: string) => /-----BEGIN [A-Z ]*PRIVATE KEY-----.+-----END [A-Z ]*PRIVATE KEY-----/s.test(candidate)
    const pem = [text.trim().replaceAll('\\n', '\n'), Buffer.from(text, 'base64').toString('utf8')].find(isPem)
    return pem === undefined ? undefined : new Secret(pem)
  },
}

export const plainName: ValueKind<string> = {
  accepts: '1 to 200 letters, digits, dots, dashes or underscores',
  parse: (text) => (/^[A-Za-z0-9._-]{1,200}$/.test(text) ? text : undefined),
}

export const folder: ValueKind<string> = {
  accepts: 'a folder',
  parse: (text, { home }) => (text.includes('\0') ? undefined : toAbsolute(text, home)),
}

export const absoluteFile: ValueKind<string> = {
  accepts: 'an absolute path',
  parse: (text) => (text.startsWith('/') && !text.includes('\0') ? resolve(text) : undefined),
}

export const folders: ValueKind<readonly string[]> = {
  accepts: `absolute folders separated by "${delimiter}"`,
  parse: (text, { home }) => {
    const parts = text.split(delimiter).filter((part) => part !== '')
    const absolute = parts.every((part) => /^(\/|~(\/|$))/.test(part) && !part.includes('\0'))
    return absolute && parts.length > 0 ? Object.freeze(parts.map((part) => toAbsolute(part, home))) : undefined
  },
}

export const addresses: ValueKind<readonly string[]> = {
  accepts: 'comma-separated IP addresses',
  parse: (text) => {
    const parts = text.split(',').map((part) => part.trim())
    return parts.every((part) => isIP(part) !== 0) ? Object.freeze(parts) : undefined
  },
}

/** A program and its arguments: JSON if it starts with `[`, else words separated by spaces. Never given to a shell. */
export const commandLine: ValueKind<readonly string[]> = {
  accepts: 'an absolute program and its arguments, separated by spaces or as a JSON list',
  parse: (text) => {
    const values = text.startsWith('[') ? jsonStrings(text) : text.split(/\s+/).filter((value) => value !== '')
    return values?.[0]?.startsWith('/') && !text.includes('\0') ? Object.freeze(values) : undefined
  },
}

function jsonStrings(text: string): string[] | undefined {
  try {
    const values: unknown = JSON.parse(text)
    return Array.isArray(values) && values.every((value) => typeof value === 'string') ? values : undefined
  } catch {
    return undefined
  }
}

export const addressRanges: ValueKind<readonly string[]> = {
  accepts: 'comma-separated IP addresses or ranges such as 10.0.0.0/8',
  parse: (text) => {
    const parts = text.split(',').map((part) => part.trim())
    return parts.every(isAddressRange) ? Object.freeze(parts) : undefined
  },
}

const privateBlocks = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '198.18.0.0/15']

/** Ranges for Docker networks: a smaller range would have room for only a few of them. */
export const privateRanges: ValueKind<readonly string[]> = {
  accepts: 'comma-separated private IPv4 ranges of /8 to /26, such as 10.213.0.0/16',
  parse: (text) => {
    const parts = text.split(',').map((part) => part.trim())
    return parts.every(isPrivateRange) ? Object.freeze(parts) : undefined
  },
}

function isPrivateRange(text: string): boolean {
  const [address = '', bits = ''] = text.split('/')
  if (isIP(address) !== 4 || !isAddressRange(text) || !/^\d+$/.test(bits) || Number(bits) > 26) return false
  return privateBlocks.some((block) => {
    const [start = '', length = ''] = block.split('/')
    const list = new BlockList()
    list.addSubnet(start, Number(length))
    return Number(bits) >= Number(length) && list.check(address)
  })
}

function isAddressRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (!family || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

function toAbsolute(text: string, home: string): string {
  return resolve(text.replace(/^~(?=\/|$)/, home))
}
