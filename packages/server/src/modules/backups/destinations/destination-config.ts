import { isIP } from 'node:net'
import { isAbsolute, resolve, sep } from 'node:path'
import type { DestinationKind, FieldProblem } from '@berth/contract'
import type { BackupsSettings } from '../deps.ts'

/** A destination's config in two halves: fields that a read may show, and encrypted fields. */
export interface StoredConfig {
  config: Record<string, string | number | boolean>
  secrets: Record<string, string>
}

export type CheckedConfig = { ok: true; stored: StoredConfig } | { ok: false; problems: FieldProblem[] }

interface Field {
  type: 'text' | 'port' | 'boolean'
  required?: true
  secret?: true
  /**
   * Determines where the secrets are sent, or as which user: stored secrets are valid only for the value they were given with.
   */
  address?: true
  /** Line breaks are kept: the value is a PEM key. */
  lines?: true
  fallback?: number
}

const fields: Record<DestinationKind, Record<string, Field>> = {
  local: { path: { type: 'text', required: true } },
  s3: {
    endpoint: { type: 'text', address: true },
    region: { type: 'text', address: true },
    bucket: { type: 'text', required: true },
    prefix: { type: 'text' },
    accessKeyId: { type: 'text', required: true },
    secretAccessKey: { type: 'text', required: true, secret: true },
    forcePathStyle: { type: 'boolean' },
  },
  sftp: {
    host: { type: 'text', required: true, address: true },
    port: { type: 'port', fallback: 22, address: true },
    user: { type: 'text', required: true, address: true },
    path: { type: 'text', required: true },
    password: { type: 'text', secret: true },
    privateKey: { type: 'text', secret: true, lines: true },
    hostKey: { type: 'text' },
  },
}

/**
 * Checks a client's config field by field. An absent field keeps its value of `before`; `null` removes an optional one. Unknown
 * fields are dropped.
 */
export function checkConfig(
  kind: DestinationKind,
  input: Record<string, unknown>,
  settings: Pick<BackupsSettings, 'backupRoots'>,
  before: StoredConfig = { config: {}, secrets: {} },
): CheckedConfig {
  const problems: FieldProblem[] = []
  const stored: StoredConfig = { config: {}, secrets: {} }
  for (const [name, field] of Object.entries(fields[kind])) {
    const old = field.secret ? before.secrets[name] : before.config[name]
    const value = fieldValue(name, field, input[name], old, problems)
    if (value === undefined) continue
    if (field.secret) stored.secrets[name] = value as string
    else stored.config[name] = value
  }
  if (problems.length === 0) problems.push(...ruleOf[kind](stored, settings, input, before))
  if (problems.length === 0) problems.push(...dropSecretsOfOldAddress(kind, stored, input, before))
  return problems.length > 0 ? { ok: false, problems } : { ok: true, stored }
}

/** Address fields whose value changed. */
export const changedAddress = (kind: DestinationKind, before: StoredConfig, after: StoredConfig): string[] =>
  Object.entries(fields[kind]).flatMap(([name, { address }]) =>
    address && after.config[name] !== before.config[name] ? [name] : [],
  )

/** A stored secret is sent only to the address it was given for: a new address needs the secret again. */
function dropSecretsOfOldAddress(
  kind: DestinationKind,
  stored: StoredConfig,
  input: Record<string, unknown>,
  before: StoredConfig,
): FieldProblem[] {
  const names = Object.entries(fields[kind])
  const changed = changedAddress(kind, before, stored)
  const keptSecrets = names.flatMap(([name]) => (before.secrets[name] !== undefined && input[name] === undefined ? [name] : []))
  const [first] = keptSecrets
  if (changed.length === 0 || first === undefined) return []
  for (const name of keptSecrets) delete stored.secrets[name]
  // The client sent another kind of secret, such as a key instead of the password.
  const isReplaced = Object.keys(stored.secrets).length > 0
  const message = `must be sent again, because ${changed.join(', ')} changed`
  return isReplaced ? [] : [{ field: `config.${first}`, message }]
}

type Value = string | number | boolean

function fieldValue(
  name: string,
  field: Field,
  input: unknown,
  old: Value | undefined,
  problems: FieldProblem[],
): Value | undefined {
  const refuse = (message: string) => void problems.push({ field: `config.${name}`, message })
  if (input === undefined && old !== undefined) return old
  if (input === undefined || (input === null && !field.required)) {
    if (field.required) refuse('is required')
    return field.fallback
  }
  if (field.type === 'boolean') {
    if (typeof input === 'boolean') return input
    refuse('must be true or false')
  } else if (field.type === 'port') {
    if (Number.isInteger(input) && (input as number) >= 1 && (input as number) <= 65535) return input as number
    refuse('must be a port from 1 to 65535')
  } else {
    const problem = textProblem(input, field)
    if (!problem) return field.lines ? (input as string) : (input as string).trim()
    refuse(problem)
  }
  return undefined
}

const maxCharacters = 1_000
const maxKeyCharacters = 20_000

function textProblem(input: unknown, { lines }: Field): string | null {
  if (typeof input !== 'string' || input.trim() === '') return 'must be a non-empty string'
  const limit = lines ? maxKeyCharacters : maxCharacters
  if (input.length > limit) return `must have at most ${limit} characters`
  if ((lines ? /[\0]/ : /[\0-\x1f\x7f]/).test(input)) return 'contains an invalid character'
  return null
}

type Rule = (
  stored: StoredConfig,
  settings: Pick<BackupsSettings, 'backupRoots'>,
  input: Record<string, unknown>,
  before: StoredConfig,
) => FieldProblem[]

const ruleOf: Record<DestinationKind, Rule> = {
  local({ config }, { backupRoots }) {
    const location = localLocation(config.path as string, backupRoots)
    if (location) {
      config.path = location.path
      return []
    }
    const message = `must be inside a folder that the operator allows for backups: ${backupRoots.join(', ')}`
    return [{ field: 'config.path', message }]
  },
  s3({ config }) {
    const problems: FieldProblem[] = []
    if (config.endpoint !== undefined && !isWebOrigin(config.endpoint as string))
      problems.push({
        field: 'config.endpoint',
        message: 'must be an http or https address without a path, such as https://s3.example.com',
      })
    if (!/^[a-z0-9A-Z][a-z0-9A-Z._-]{1,254}$/.test(config.bucket as string))
      problems.push({ field: 'config.bucket', message: 'is not a valid bucket name' })
    if (config.prefix !== undefined) {
      const prefix = (config.prefix as string).replace(/^\/+|\/+$/g, '')
      if (!/^[\w.-]+(\/[\w.-]+)*$/.test(prefix) || prefix.split('/').some((part) => part.startsWith('.')))
        problems.push({
          field: 'config.prefix',
          message: 'must be names of letters, digits, "_", "." or "-", separated by "/"',
        })
      config.prefix = prefix
    }
    return problems
  },
  sftp({ config, secrets }, _settings, input, before) {
    const problems: FieldProblem[] = []
    const host = config.host as string
    if (!isIP(host) && !/^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(host))
      problems.push({ field: 'config.host', message: 'must be a host name or an IP address' })
    if (!secrets.password && !secrets.privateKey)
      problems.push({ field: 'config.privateKey', message: 'is required, unless a password is given' })
    if (config.hostKey !== undefined && !/^SHA256:[A-Za-z0-9+/]{43}=?$/.test(config.hostKey as string))
      problems.push({ field: 'config.hostKey', message: 'must be a fingerprint such as SHA256:… (ssh-keygen -lf shows it)' })
    // Another host has another key: the pinned one does not apply to it.
    const isOtherHost = before.config.host !== undefined && (before.config.host !== host || before.config.port !== config.port)
    if (isOtherHost && input.hostKey === undefined) delete config.hostKey
    return problems
  },
}

function isWebOrigin(text: string): boolean {
  const url = URL.parse(text)
  return (
    (url?.protocol === 'https:' || url?.protocol === 'http:') &&
    url.username === '' &&
    (url.pathname === '/' || url.pathname === '')
  )
}

/** The allowed folder that contains the path, and the path as it will be used; a relative path is below the first folder. */
export function localLocation(path: string, roots: readonly string[]): { root: string; path: string } | null {
  const [first] = roots
  if (!first || path.split(/[/\\]/).includes('..')) return null
  const resolved = isAbsolute(path) ? resolve(path) : resolve(first, path)
  const root = roots
    .map((one) => resolve(one))
    .find((one) => resolved === one || resolved.startsWith(one.endsWith(sep) ? one : one + sep))
  return root === undefined ? null : { root, path: resolved }
}
