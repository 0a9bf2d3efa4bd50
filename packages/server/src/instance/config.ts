import { homedir } from 'node:os'
import { join } from 'node:path'
import { inheritedEnvironment } from '../drivers/shell/inherited-environment.ts'
import { ConfigError } from '../platform/config-error.ts'
import * as kinds from './config-values.ts'

/** What defaults are made from: the user's home, the data folder once it is known, and what the instance is. */
interface Place {
  home: string
  dataDir: string
  mode: 'self-hosted' | 'cloud'
}

interface Setting<T> {
  readonly variable: string
  readonly kind: kinds.ValueKind<unknown>
  readonly help: string
  readonly fallback: (place: Place) => T
  /** The default in words, where it is not a plain value. */
  readonly fallbackText?: string
  readonly parse: kinds.ValueKind<T>['parse']
}

/** A setting with a default; `null` as the default says "absent". */
function setting<T, D extends T | null>(variable: string, kind: kinds.ValueKind<T>, fallback: D, help: string): Setting<T | D> {
  return { variable, kind, help, fallback: () => fallback, parse: kind.parse }
}

function computed<T>(
  variable: string,
  kind: kinds.ValueKind<T>,
  fallback: (place: Place) => T,
  text: string,
  help: string,
): Setting<T> {
  return { variable, kind, help, fallback, fallbackText: text, parse: kind.parse }
}

const nowhere: Place = { home: '', dataDir: '', mode: 'self-hosted' }

const { oneOf, wholeNumber, port, webAddress, secretUrl, secretText } = kinds

const mainSettings = {
  mode: setting('BERTH_MODE', oneOf('self-hosted', 'cloud'), 'self-hosted', 'What this instance is'),
  host: setting('BERTH_HOST', kinds.listenAddress, '127.0.0.1', 'Address that the API and dashboard listen on'),
  port: setting('BERTH_PORT', port, 4000, 'Port of the API and dashboard; 0 takes a free one'),
  publicUrl: setting(
    'BERTH_PUBLIC_URL',
    webAddress({ originOnly: true }),
    null,
    'Where browsers and git hosts reach this instance',
  ),
  trustedProxies: setting(
    'BERTH_TRUSTED_PROXIES',
    kinds.addressRanges,
    Object.freeze([]),
    'Proxies whose X-Forwarded-For counts',
  ),
  edgePort: setting('BERTH_EDGE_PORT', port, 4080, 'Port where projects are served over http; 0 takes a free one'),
  edgeTlsPort: setting('BERTH_EDGE_TLS_PORT', port, null, 'Port where projects are served over https; absent: no https'),
  baseDomain: setting('BERTH_BASE_DOMAIN', kinds.domain, 'localhost', 'Projects are at <slug>.<this domain>'),
  edge: setting('BERTH_EDGE', oneOf('embedded'), 'embedded', 'What serves the projects to the outside'),
  acmeDirectory: setting(
    'BERTH_ACME_DIRECTORY',
    webAddress(),
    'https://acme-v02.api.letsencrypt.org/directory',
    'ACME directory that certificates come from',
  ),
  dnsServers: setting(
    'BERTH_DNS_SERVERS',
    kinds.nameServers,
    null,
    'Name servers asked for the proofs of domains; absent: those of the machine',
  ),
  acmeEmail: setting('BERTH_ACME_EMAIL', kinds.emailAddress, null, 'Contact given to the certificate authority'),
  dataDir: computed('BERTH_DATA_DIR', kinds.folder, ({ home }) => join(home, '.berth'), '~/.berth', 'Folder for everything kept'),
  databaseUrl: setting(
    'BERTH_DATABASE_URL',
    secretUrl('a postgres:// or postgresql:// address', 'postgres:', 'postgresql:'),
    null,
    'PostgreSQL database; absent: SQLite in the data folder',
  ),
  projectRoots: computed(
    'BERTH_PROJECT_ROOTS',
    kinds.folders,
    ({ dataDir }) => Object.freeze([join(dataDir, 'projects')]),
    'projects in the data folder',
    'Folders below which a project of an operator may be',
  ),
  backupRoots: computed(
    'BERTH_BACKUP_ROOTS',
    kinds.folders,
    ({ dataDir }) => Object.freeze([join(dataDir, 'backups')]),
    'backups in the data folder',
    'Folders below which a local backup destination of an operator may be',
  ),
  maxBackups: setting('BERTH_MAX_BACKUPS', wholeNumber(1, 64), 2, 'How many backup runs may work at once'),
  runtime: setting(
    'BERTH_RUNTIME',
    oneOf('auto', 'docker', 'process'),
    'auto',
    'What projects run in; auto: docker if it answers',
  ),
  dockerSocket: setting('BERTH_DOCKER_SOCKET', kinds.absoluteFile, '/var/run/docker.sock', 'Socket of the Docker engine'),
  imageMirror: setting('BERTH_IMAGE_MIRROR', kinds.imageMirror, null, 'Registry that base images come from instead of their own'),
  isolation: setting(
    'BERTH_ISOLATION',
    oneOf('auto', 'bubblewrap', 'own-users', 'none'),
    'auto',
    'What keeps plain processes of projects apart; auto: the best that works',
  ),
  trustEveryone: setting(
    'BERTH_TRUST_EVERYONE',
    kinds.yesOrNo,
    false,
    'Whether several people may deploy although nothing keeps their projects apart',
  ),
  imageRegistries: setting(
    'BERTH_IMAGE_REGISTRIES',
    kinds.hosts,
    null,
    'Registries that images may be fetched from; absent: any, and in cloud mode the large public ones',
  ),
  maxBuilds: setting('BERTH_MAX_BUILDS', wholeNumber(1, 64), 2, 'How many builds may run at once'),
  sleepAfterSeconds: setting(
    'BERTH_SLEEP_AFTER_SECONDS',
    wholeNumber(0, 31_536_000),
    900,
    'Idle time before a project that may sleep does; 0: never',
  ),
  serverWaitSeconds: setting(
    'BERTH_SERVER_WAIT_SECONDS',
    wholeNumber(0, 86_400),
    300,
    'How long a deployment waits for a server that does not answer',
  ),
  jobLeaseSeconds: setting('BERTH_JOB_LEASE_SECONDS', wholeNumber(1, 3600), 30, 'How long a silent worker keeps its job'),
  secretKey: setting(
    'BERTH_SECRET_KEY',
    kinds.secretKeys,
    null,
    'Key that secrets are stored under; absent: made in the data folder',
  ),
  adminEmail: setting('BERTH_ADMIN_EMAIL', kinds.emailAddress, null, 'Owner to create at the first start'),
  adminPassword: setting('BERTH_ADMIN_PASSWORD', secretText({ least: 8 }), null, 'Password of that owner'),
  signUp: setting(
    'BERTH_SIGN_UP',
    oneOf('closed', 'invitation', 'open'),
    'invitation',
    'Who may sign up on a cloud: nobody, whom an operator invites, or anybody with an e-mail address',
  ),
  signUpsPerHour: setting(
    'BERTH_SIGN_UPS_PER_HOUR',
    wholeNumber(1, 1_000_000),
    100,
    'How many may ask to sign up within an hour, all together',
  ),
  allowPrivateWebhooks: setting(
    'BERTH_ALLOW_PRIVATE_WEBHOOKS',
    kinds.yesOrNo,
    false,
    'Whether webhooks may go to private addresses',
  ),
  smtpUrl: setting(
    'BERTH_SMTP_URL',
    secretUrl('an smtp:// or smtps:// address', 'smtp:', 'smtps:'),
    null,
    'Server that mail goes out through; absent: no mail',
  ),
  slackHost: setting('BERTH_SLACK_HOST', kinds.hostAndPort, 'hooks.slack.com', 'Host that Slack webhook addresses must be on'),
  rateLimitScale: setting(
    'BERTH_RATE_LIMIT_SCALE',
    wholeNumber(1, 1_000_000),
    1,
    'Every rate limit of the API times this; for measuring',
  ),
  logLevel: setting(
    'BERTH_LOG_LEVEL',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'info',
    'The least important line that is logged',
  ),
} as const

const githubSettings = {
  appId: setting('BERTH_GITHUB_APP_ID', wholeNumber(1, Number.MAX_SAFE_INTEGER), null, 'Id of the GitHub App'),
  privateKey: setting('BERTH_GITHUB_PRIVATE_KEY', kinds.privateKey, null, 'Private key of the GitHub App'),
  appSlug: setting('BERTH_GITHUB_APP_SLUG', kinds.word, null, 'Name of the GitHub App in its install link'),
  clientId: setting('BERTH_GITHUB_CLIENT_ID', kinds.word, null, 'OAuth client id'),
  clientSecret: setting('BERTH_GITHUB_CLIENT_SECRET', secretText(), null, 'OAuth client secret'),
  webhookSecret: setting('BERTH_GITHUB_WEBHOOK_SECRET', secretText(), null, 'Secret that webhook deliveries are signed with'),
  apiUrl: setting(
    'BERTH_GITHUB_API_URL',
    webAddress(),
    'https://api.github.com',
    'Base of the API, for an Enterprise or local host',
  ),
  webUrl: setting(
    'BERTH_GITHUB_WEB_URL',
    webAddress(),
    'https://github.com',
    'Base of the web pages, for an Enterprise or local host',
  ),
} as const

/** GitLab and Gitea (or Forgejo): where it is, and the OAuth application made there. */
const hostSettings = <const Name extends string>(name: Name, title: string, url: string) => ({
  url: setting(`BERTH_${name}_URL`, webAddress(), url, `Where ${title} is`),
  clientId: setting(`BERTH_${name}_CLIENT_ID`, kinds.word, null, `OAuth client id at ${title}`),
  clientSecret: setting(`BERTH_${name}_CLIENT_SECRET`, secretText(), null, `OAuth client secret at ${title}`),
})
const gitlabSettings = hostSettings('GITLAB', 'GitLab', 'https://gitlab.com')
const giteaSettings = hostSettings('GITEA', 'Gitea or Forgejo', 'https://gitea.com')

/** A customer of a cloud is held to something; an instance of one's own to nothing, unless it says so. */
const quota = (name: string, inCloud: number, most: number, help: string) =>
  computed<number | null>(
    `BERTH_QUOTA_${name}`,
    wholeNumber(1, most),
    ({ mode }) => (mode === 'cloud' ? inCloud : null),
    `${inCloud} in cloud mode, else none`,
    help,
  )

const quotaSettings = {
  projects: quota('PROJECTS', 20, 1_000_000, 'How many projects an organisation may have'),
  cpuCores: quota('CPU_CORES', 24, 1_000_000, 'How many CPU cores the environments of its projects may have together'),
  memoryMb: quota('MEMORY_MB', 16_384, 1_000_000_000, 'How much memory they may have together'),
  builds: quota('BUILDS', 2, 1000, 'How many of its deployments are worked on at once; the others wait'),
  organizations: quota('ORGANIZATIONS', 3, 1_000_000, 'How many organisations one person may own'),
} as const

const baseImage = (stack: string, what: string) =>
  setting(`BERTH_BASE_IMAGE_${stack}`, kinds.image, null, `Image that ${what} are built and run in on docker`)

/** By the names that the docker runtime has for stacks. */
const baseImageSettings = {
  node: baseImage('NODE', 'projects of Node'),
  bun: baseImage('BUN', 'projects of Bun'),
  deno: baseImage('DENO', 'projects of Deno'),
  python: baseImage('PYTHON', 'projects in Python'),
  go: baseImage('GO', 'projects in Go'),
  rust: baseImage('RUST', 'projects in Rust'),
  ruby: baseImage('RUBY', 'projects in Ruby'),
  php: baseImage('PHP', 'projects in PHP'),
  java: baseImage('JAVA', 'projects in Java or Kotlin'),
  dotnet: baseImage('DOTNET', 'projects of .NET'),
  elixir: baseImage('ELIXIR', 'projects in Elixir'),
  static: baseImage('STATIC', 'plain pages with a build of their own'),
} as const

type Values<Table> = { readonly [Key in keyof Table]: Table[Key] extends Setting<infer T> ? T : never }

export type Config = Values<typeof mainSettings> & {
  readonly github: Values<typeof githubSettings>
  readonly gitlab: Values<typeof gitlabSettings>
  readonly gitea: Values<typeof giteaSettings>
  readonly baseImages: Values<typeof baseImageSettings>
  readonly quotas: Values<typeof quotaSettings>
  /** What the commands that Berth runs inherit of its environment: none of our own settings. */
  readonly environment: Environment
  /** Lines to log at the start: variables that look like settings and are none. */
  readonly warnings: readonly string[]
}

export type Environment = Readonly<Record<string, string | undefined>>

const allSettings: readonly Setting<unknown>[] = [
  ...Object.values(mainSettings),
  ...Object.values(githubSettings),
  ...Object.values(gitlabSettings),
  ...Object.values(giteaSettings),
  ...Object.values(baseImageSettings),
  ...Object.values(quotaSettings),
]

/** The one place that reads settings. A value that is empty counts as absent. */
export function readConfig(env: Environment): Config {
  const home = env.HOME?.trim() || homedir()
  const place: Place = { home, dataDir: '', mode: 'self-hosted' }
  place.mode = readSetting(mainSettings.mode, env, place)
  place.dataDir = readSetting(mainSettings.dataDir, env, place)
  const config = {
    ...readTable(mainSettings, env, place),
    github: Object.freeze(withOwnApi(readTable(githubSettings, env, place))),
    gitlab: Object.freeze(readTable(gitlabSettings, env, place)),
    gitea: Object.freeze(readTable(giteaSettings, env, place)),
    baseImages: Object.freeze(readTable(baseImageSettings, env, place)),
    quotas: Object.freeze(readTable(quotaSettings, env, place)),
    environment: Object.freeze(inheritedEnvironment(env)),
    warnings: Object.freeze(unknownVariables(env)),
  }
  refuseWhatDoesNotFit(config)
  return Object.freeze(config)
}

/** Rows for `berth help settings`. */
export function describeSettings() {
  return allSettings.map(({ variable, kind, help, fallback, fallbackText }) => ({
    variable,
    help,
    accepts: kind.accepts,
    default: fallbackText ?? String(fallback(nowhere) ?? ''),
    secret: kind.secret ?? false,
  }))
}

function readTable<Table extends Record<string, Setting<unknown>>>(table: Table, env: Environment, place: Place): Values<Table> {
  const entries = Object.entries(table).map(([key, row]) => [key, readSetting(row, env, place)])
  return Object.fromEntries(entries) as Values<Table>
}

function readSetting<T>({ variable, kind, fallback, parse }: Setting<T>, env: Environment, place: Place): T {
  const raw = env[variable] ?? ''
  if (raw.trim() === '') return fallback(place)
  const text = kind.secret ? raw : raw.trim()
  const value = parse(text, place)
  if (value !== undefined) return value
  const shown = kind.secret ? 'is not usable' : `is ${JSON.stringify(text.slice(0, 100))}`
  throw new ConfigError(variable, `${variable} ${shown}: it must be ${kind.accepts}`)
}

function refuseWhatDoesNotFit(config: Omit<Config, 'warnings'>): void {
  togetherWith(config, 'adminEmail', 'adminPassword', mainSettings)
  togetherWith(config.github, 'appId', 'privateKey', githubSettings)
  for (const [values, table] of [
    [config.github, githubSettings],
    [config.gitlab, gitlabSettings],
    [config.gitea, giteaSettings],
  ] as const)
    if (values.clientSecret && !values.clientId)
      togetherWith<'clientId' | 'clientSecret'>(values, 'clientId', 'clientSecret', table)
  refuseOnePortTwice(config)
  // Whoever signs up by themselves proves their address by mail.
  if (config.mode === 'cloud' && config.signUp === 'open' && !config.smtpUrl)
    throw new ConfigError(
      'BERTH_SMTP_URL',
      `BERTH_SMTP_URL is missing: with BERTH_SIGN_UP=open it must be ${mainSettings.smtpUrl.kind.accepts}`,
    )
}

/** An Enterprise server has its API below its own address: a token of it never goes to github.com because one setting was left out. */
function withOwnApi(github: Config['github']): Config['github'] {
  const { apiUrl, webUrl } = githubSettings
  const isDefault = (row: Setting<string>, value: string) => value === row.fallback(nowhere)
  const isElsewhere = isDefault(apiUrl, github.apiUrl) && !isDefault(webUrl, github.webUrl)
  return isElsewhere ? { ...github, apiUrl: `${github.webUrl}/api/v3` } : github
}

function togetherWith<Key extends string>(
  values: Readonly<Record<Key, unknown>>,
  first: Key,
  second: Key,
  table: Readonly<Record<Key, Setting<unknown>>>,
): void {
  if ((values[first] === null) === (values[second] === null)) return
  const [missing, given] = values[first] === null ? [first, second] : [second, first]
  const { variable, kind } = table[missing]
  throw new ConfigError(variable, `${variable} is missing: with ${table[given].variable} it must be ${kind.accepts}`)
}

function refuseOnePortTwice({ port, edgePort, edgeTlsPort }: Pick<Config, 'port' | 'edgePort' | 'edgeTlsPort'>): void {
  const refuse = (variable: string, value: number, other: string) => {
    throw new ConfigError(variable, `${variable} is "${value}": it must be another port than ${other}`)
  }
  if (edgePort !== 0 && edgePort === port) refuse('BERTH_EDGE_PORT', edgePort, 'BERTH_PORT')
  if (!edgeTlsPort) return
  if (edgeTlsPort === port) refuse('BERTH_EDGE_TLS_PORT', edgeTlsPort, 'BERTH_PORT')
  if (edgeTlsPort === edgePort) refuse('BERTH_EDGE_TLS_PORT', edgeTlsPort, 'BERTH_EDGE_PORT')
}

function unknownVariables(env: Environment): string[] {
  const known = allSettings.map(({ variable }) => variable)
  return Object.keys(env)
    .filter((name) => name.startsWith('BERTH_') && !name.startsWith('BERTH_TEST_') && !known.includes(name))
    .sort()
    .map((name) => `${name} is not a setting and was ignored; the nearest one is ${nearest(name, known)}`)
}

function nearest(name: string, known: readonly string[]): string {
  return known.reduce((best, candidate) => (editDistance(name, candidate) < editDistance(name, best) ? candidate : best))
}

function editDistance(left: string, right: string): number {
  let above = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (const [row, letter] of [...left].entries()) {
    const line = [row + 1]
    for (let column = 1; column <= right.length; column++) {
      const change = above[column - 1]! + (letter === right[column - 1] ? 0 : 1)
      line.push(Math.min(change, above[column]! + 1, line[column - 1]! + 1))
    }
    above = line
  }
  return above.at(-1)!
}
