import { homedir } from 'node:os'
import { inheritedEnvironment } from '../../drivers/shell/inherited-environment.ts'
import { ConfigError } from '../../platform/config-error.ts'
import {
  allSettings,
  baseImageSettings,
  type DefaultsContext,
  dnsSettings,
  giteaSettings,
  githubSettings,
  gitlabSettings,
  mainSettings,
  noLocation,
  quotaSettings,
  type Setting,
  uploadSettings,
  type Values,
} from './settings.ts'
import { unknownVariables } from './unknown-variables.ts'

export type Config = Values<typeof mainSettings> & {
  readonly github: Values<typeof githubSettings>
  readonly gitlab: Values<typeof gitlabSettings>
  readonly gitea: Values<typeof giteaSettings>
  readonly baseImages: Values<typeof baseImageSettings>
  readonly quotas: Values<typeof quotaSettings>
  readonly uploads: Values<typeof uploadSettings>
  readonly dns: Values<typeof dnsSettings>
  /** Environment variables that child processes inherit: without Berth's own settings. */
  readonly environment: Environment
  /** Lines to log at startup: variables that look like settings but are unknown. */
  readonly warnings: readonly string[]
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads all settings. An empty value counts as absent. */
export function readConfig(env: Environment): Config {
  const home = env.HOME?.trim() || homedir()
  const context: DefaultsContext = { home, dataDir: '', mode: 'self-hosted' }
  context.mode = readSetting(mainSettings.mode, env, context)
  context.dataDir = readSetting(mainSettings.dataDir, env, context)
  const config = {
    ...withDashboardUrl(readTable(mainSettings, env, context)),
    github: Object.freeze(withEnterpriseApi(readTable(githubSettings, env, context))),
    gitlab: Object.freeze(readTable(gitlabSettings, env, context)),
    gitea: Object.freeze(readTable(giteaSettings, env, context)),
    baseImages: Object.freeze(readTable(baseImageSettings, env, context)),
    quotas: Object.freeze(readTable(quotaSettings, env, context)),
    uploads: Object.freeze(readTable(uploadSettings, env, context)),
    dns: Object.freeze(readTable(dnsSettings, env, context)),
    environment: Object.freeze({ ...inheritedEnvironment(env), ...operatorTools(env) }),
    warnings: Object.freeze(unknownVariables(env)),
  }
  refuseInvalidCombinations(config)
  return Object.freeze(config)
}

/** Settings of npm and certificate files that the process runtime passes on to tool downloads and builds. */
const operatorTools = (env: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => operatorVariables.test(entry[0]) && entry[1] !== undefined),
  )
const operatorVariables =
  /^(npm_config_(registry|cafile|(https[-_])?proxy|noproxy|strict[-_]ssl)|YARN_HTTPS_CA_FILE_PATH|CARGO_HTTP_CAINFO|DENO_CERT|AWS_CA_BUNDLE)$/i

/** Rows for `berth help settings`. */
export function describeSettings() {
  return allSettings.map(({ variable, kind, help, fallback, fallbackText }) => ({
    variable,
    help,
    accepts: kind.accepts,
    default: fallbackText ?? String(fallback(noLocation) ?? ''),
    secret: kind.secret ?? false,
  }))
}

function readTable<Table extends Record<string, Setting<unknown>>>(
  table: Table,
  env: Environment,
  context: DefaultsContext,
): Values<Table> {
  const entries = Object.entries(table).map(([key, row]) => [key, readSetting(row, env, context)])
  return Object.fromEntries(entries) as Values<Table>
}

function readSetting<T>({ variable, kind, fallback, parse }: Setting<T>, env: Environment, context: DefaultsContext): T {
  const raw = env[variable] ?? ''
  if (raw.trim() === '') return fallback(context)
  const text = kind.secret ? raw : raw.trim()
  const value = parse(text, context)
  if (value !== undefined) return value
  const problem = kind.secret ? 'is invalid' : `is ${JSON.stringify(text.slice(0, 100))}`
  throw new ConfigError(variable, `${variable} ${problem}: it must be ${kind.accepts}`)
}

function refuseInvalidCombinations(config: Omit<Config, 'warnings'>): void {
  refuseOneWithoutOther(config, 'adminEmail', 'adminPassword', mainSettings)
  refuseOneWithoutOther(config.github, 'appId', 'privateKey', githubSettings)
  refuseOneWithoutOther<'bucket' | 'accessKeyId'>(config.uploads, 'bucket', 'accessKeyId', uploadSettings)
  refuseOneWithoutOther<'bucket' | 'secretAccessKey'>(config.uploads, 'bucket', 'secretAccessKey', uploadSettings)
  for (const [values, table] of [
    [config.github, githubSettings],
    [config.gitlab, gitlabSettings],
    [config.gitea, giteaSettings],
  ] as const)
    if (values.clientSecret && !values.clientId)
      refuseOneWithoutOther<'clientId' | 'clientSecret'>(values, 'clientId', 'clientSecret', table)
  refuseSharedPort(config)
  refuseIncompleteDns(config.dns)
  // Open sign-up verifies addresses by mail.
  if (config.mode === 'cloud' && config.signUp === 'open' && !config.smtpUrl)
    throw new ConfigError(
      'BERTH_SMTP_URL',
      `BERTH_SMTP_URL is missing: with BERTH_SIGN_UP=open it must be ${mainSettings.smtpUrl.kind.accepts}`,
    )
}

/**
 * The API of a GitHub Enterprise server is below its own URL. This prevents sending its token to github.com when only one of the
 * two settings is set.
 */
function withEnterpriseApi(github: Config['github']): Config['github'] {
  const { apiUrl, webUrl } = githubSettings
  const isDefault = (row: Setting<string>, value: string) => value === row.fallback(noLocation)
  const needsEnterpriseApi = isDefault(apiUrl, github.apiUrl) && !isDefault(webUrl, github.webUrl)
  return needsEnterpriseApi ? { ...github, apiUrl: `${github.webUrl}/api/v3` } : github
}

/** The default public URL: the edge serves the dashboard at `berth.<base domain>` if it has a base domain and https. */
function withDashboardUrl<Main extends Pick<Config, 'publicUrl' | 'baseDomain' | 'edgeTlsPort'>>(main: Main): Main {
  const { publicUrl, baseDomain, edgeTlsPort } = main
  if (publicUrl !== null || !edgeTlsPort || !baseDomain.includes('.') || /(^|\.)localhost$/.test(baseDomain)) return main
  return { ...main, publicUrl: `https://berth.${baseDomain}${edgeTlsPort === 443 ? '' : `:${edgeTlsPort}`}` }
}

/** A hook needs its program, every other provider its token. */
function refuseIncompleteDns(dns: Config['dns']): void {
  const key = dns.provider === 'hook' ? 'hook' : 'token'
  if (dns.provider === null || dns[key] !== null) return
  const { variable, kind } = dnsSettings[key]
  throw new ConfigError(variable, `${variable} is missing: with BERTH_DNS_PROVIDER=${dns.provider} it must be ${kind.accepts}`)
}

function refuseOneWithoutOther<Key extends string>(
  values: Readonly<Record<Key, unknown>>,
  first: Key,
  second: Key,
  table: Readonly<Record<Key, Setting<unknown>>>,
): void {
  if ((values[first] === null) === (values[second] === null)) return
  const [missing, present] = values[first] === null ? [first, second] : [second, first]
  const { variable, kind } = table[missing]
  throw new ConfigError(variable, `${variable} is missing: with ${table[present].variable} it must be ${kind.accepts}`)
}

function refuseSharedPort({ port, edgePort, edgeTlsPort }: Pick<Config, 'port' | 'edgePort' | 'edgeTlsPort'>): void {
  const refuse = (variable: string, value: number, other: string) => {
    throw new ConfigError(variable, `${variable} is "${value}": it must be another port than ${other}`)
  }
  if (edgePort !== 0 && edgePort === port) refuse('BERTH_EDGE_PORT', edgePort, 'BERTH_PORT')
  if (!edgeTlsPort) return
  if (edgeTlsPort === port) refuse('BERTH_EDGE_TLS_PORT', edgeTlsPort, 'BERTH_PORT')
  if (edgeTlsPort === edgePort) refuse('BERTH_EDGE_TLS_PORT', edgeTlsPort, 'BERTH_EDGE_PORT')
}
