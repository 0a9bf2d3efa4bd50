import { join } from 'node:path'
import * as kinds from './config-values.ts'

/** What defaults are made from: the user's home, the data folder once it is known, and what the instance is. */
export interface Place {
  home: string
  dataDir: string
  mode: 'self-hosted' | 'cloud'
}

export interface Setting<T> {
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

/** For defaults that are plain values. */
export const nowhere: Place = { home: '', dataDir: '', mode: 'self-hosted' }

const { oneOf, wholeNumber, port, webAddress, secretUrl, secretText } = kinds

export const mainSettings = {
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
  networkRanges: setting(
    'BERTH_NETWORK_RANGE',
    kinds.privateRanges,
    null,
    "Addresses that projects' networks are taken from on docker; absent: the engine's own pools, else a range that is seldom used",
  ),
  imageMirror: setting('BERTH_IMAGE_MIRROR', kinds.imageMirror, null, 'Registry that base images come from instead of their own'),
  buildCacheMb: setting(
    'BERTH_BUILD_CACHE_MB',
    wholeNumber(0, 100_000_000),
    null,
    'How much disk the cache of builds may take on docker; absent: 10 GB, or a fifth of the disk where that is less',
  ),
  allowRoot: setting('BERTH_ALLOW_ROOT', kinds.yesOrNo, true, 'Whether containers of projects may run as root'),
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
  imageCheckSeconds: setting(
    'BERTH_IMAGE_CHECK_SECONDS',
    wholeNumber(60, 604_800),
    300,
    'How often the image of a project that deploys by itself is compared with its registry',
  ),
  maxBuilds: setting('BERTH_MAX_BUILDS', wholeNumber(1, 64), 2, 'How many builds may run at once'),
  buildSilentSeconds: setting(
    'BERTH_BUILD_SILENT_SECONDS',
    wholeNumber(1, 1_800),
    600,
    'How long a build may write nothing before it is ended',
  ),
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
    'How long a deployment waits for a server, or for the Docker engine of this machine, that does not answer',
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

export const githubSettings = {
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
export const gitlabSettings = hostSettings('GITLAB', 'GitLab', 'https://gitlab.com')
export const giteaSettings = hostSettings('GITEA', 'Gitea or Forgejo', 'https://gitea.com')

/** A customer of a cloud is held to something; an instance of one's own to nothing, unless it says so. */
const quota = (name: string, inCloud: number, most: number, help: string) =>
  computed<number | null>(
    `BERTH_QUOTA_${name}`,
    wholeNumber(1, most),
    ({ mode }) => (mode === 'cloud' ? inCloud : null),
    `${inCloud} in cloud mode, else none`,
    help,
  )

export const quotaSettings = {
  projects: quota('PROJECTS', 20, 1_000_000, 'How many projects an organisation may have'),
  cpuCores: quota('CPU_CORES', 24, 1_000_000, 'How many CPU cores the environments of its projects may have together'),
  memoryMb: quota('MEMORY_MB', 16_384, 1_000_000_000, 'How much memory they may have together'),
  builds: quota('BUILDS', 2, 1000, 'How many of its deployments are worked on at once; the others wait'),
  organizations: quota('ORGANIZATIONS', 3, 1_000_000, 'How many organisations one person may own'),
  arrivingMb: quota('ARRIVING_MB', 20_480, 1_000_000_000, 'How much disk projects may take while they are moved here'),
  uploads: quota('UPLOADS', 50, 1_000_000, 'How many uploads it may have that no project is made of; they go after an hour'),
} as const

/** Where a cloud has folders uploaded to, straight from whoever sends them. */
export const uploadSettings = {
  bucket: setting('BERTH_UPLOADS_BUCKET', kinds.word, null, 'Bucket that a cloud takes uploads in; absent: they come to itself'),
  endpoint: setting('BERTH_UPLOADS_ENDPOINT', webAddress(), null, 'S3 server of that bucket, as senders reach it; absent: AWS'),
  region: setting('BERTH_UPLOADS_REGION', kinds.word, 'us-east-1', 'Region of that bucket'),
  prefix: setting('BERTH_UPLOADS_PREFIX', kinds.word, 'berth-uploads', 'Folder in that bucket for uploads alone'),
  accessKeyId: setting('BERTH_UPLOADS_ACCESS_KEY_ID', kinds.word, null, 'Key that may put, get, list and delete there'),
  secretAccessKey: setting('BERTH_UPLOADS_SECRET_ACCESS_KEY', secretText(), null, 'Secret of that key'),
} as const

const baseImage = (stack: string, what: string) =>
  setting(`BERTH_BASE_IMAGE_${stack}`, kinds.image, null, `Image that ${what} are built and run in on docker`)

/** By the names that the docker runtime has for stacks. */
export const baseImageSettings = {
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

export type Values<Table> = { readonly [Key in keyof Table]: Table[Key] extends Setting<infer T> ? T : never }

export const allSettings: readonly Setting<unknown>[] = [
  ...Object.values(mainSettings),
  ...Object.values(githubSettings),
  ...Object.values(gitlabSettings),
  ...Object.values(giteaSettings),
  ...Object.values(baseImageSettings),
  ...Object.values(quotaSettings),
  ...Object.values(uploadSettings),
]
