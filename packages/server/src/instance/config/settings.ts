import { join } from 'node:path'
import * as kinds from './config-values.ts'

/** Values that defaults are computed from: the user's home, the data folder once known, and the mode. */
export interface DefaultsContext {
  home: string
  dataDir: string
  mode: 'self-hosted' | 'cloud'
}

export interface Setting<T> {
  readonly variable: string
  readonly kind: kinds.ValueKind<unknown>
  readonly help: string
  readonly fallback: (context: DefaultsContext) => T
  /** The default as text, if it is not a plain value. */
  readonly fallbackText?: string
  readonly parse: kinds.ValueKind<T>['parse']
}

/** A setting with a default; a default of `null` means absent. */
function setting<T, D extends T | null>(variable: string, kind: kinds.ValueKind<T>, fallback: D, help: string): Setting<T | D> {
  return { variable, kind, help, fallback: () => fallback, parse: kind.parse }
}

function computed<T>(
  variable: string,
  kind: kinds.ValueKind<T>,
  fallback: (context: DefaultsContext) => T,
  text: string,
  help: string,
): Setting<T> {
  return { variable, kind, help, fallback, fallbackText: text, parse: kind.parse }
}

/** Placeholder for defaults that are plain values. */
export const noLocation: DefaultsContext = { home: '', dataDir: '', mode: 'self-hosted' }

const { oneOf, wholeNumber, port, webAddress, secretUrl, secretText } = kinds

export const mainSettings = {
  mode: setting('BERTH_MODE', oneOf('self-hosted', 'cloud'), 'self-hosted', 'Mode of this instance'),
  role: setting(
    'BERTH_ROLE',
    oneOf('all', 'api', 'worker'),
    'all',
    'Processes to run; all: a worker and an API process; api: an API process only, which uses the worker at BERTH_WORKER_URL; worker: a worker only',
  ),
  workerUrl: setting(
    'BERTH_WORKER_URL',
    webAddress({ originOnly: true }),
    null,
    'Where an API process (BERTH_ROLE=api) reaches the worker: http://<address>:<its BERTH_PORT>; absent: the worker of berth up on the same data folder',
  ),
  host: setting('BERTH_HOST', kinds.listenAddress, '127.0.0.1', 'Address that the API and dashboard listen on'),
  port: setting('BERTH_PORT', port, 4000, 'Port of the API and dashboard; 0: any free port'),
  publicUrl: setting(
    'BERTH_PUBLIC_URL',
    webAddress({ originOnly: true }),
    null,
    'Public URL of this instance, for browsers and git hosts',
  ),
  trustedProxies: setting(
    'BERTH_TRUSTED_PROXIES',
    kinds.addressRanges,
    Object.freeze([]),
    'Trusted proxies: their X-Forwarded-For header is used',
  ),
  publicAddress: setting(
    'BERTH_PUBLIC_ADDRESS',
    kinds.addresses,
    null,
    'Public IP addresses of this machine, for the DNS records of domains; absent: taken from BERTH_PUBLIC_URL or BERTH_HOST',
  ),
  edgeHost: setting('BERTH_EDGE_HOST', kinds.listenAddress, null, 'Address that the edge listens on; absent: BERTH_HOST'),
  edgePort: setting('BERTH_EDGE_PORT', port, 4080, 'Port that serves projects over http; 0: any free port'),
  edgeTlsPort: setting('BERTH_EDGE_TLS_PORT', port, null, 'Port that serves projects over https; absent: no https'),
  baseDomain: setting('BERTH_BASE_DOMAIN', kinds.domain, 'localhost', 'Projects are at <slug>.<this domain>'),
  edge: setting(
    'BERTH_EDGE',
    oneOf('embedded', 'nginx'),
    'embedded',
    'Reverse proxy in front of the projects; nginx: that of this machine',
  ),
  acmeDirectory: setting(
    'BERTH_ACME_DIRECTORY',
    webAddress(),
    'https://acme-v02.api.letsencrypt.org/directory',
    'ACME directory that issues certificates',
  ),
  dnsServers: setting(
    'BERTH_DNS_SERVERS',
    kinds.nameServers,
    null,
    'Name servers used to verify domains; absent: those of the machine',
  ),
  acmeOrdersPerHour: setting(
    'BERTH_ACME_ORDERS_PER_HOUR',
    wholeNumber(1, 10_000),
    40,
    'Maximum number of certificate orders per hour; a quarter is kept for domains, renewals and the dashboard',
  ),
  acmeEmail: setting('BERTH_ACME_EMAIL', kinds.emailAddress, null, 'Contact given to the certificate authority'),
  dataDir: computed('BERTH_DATA_DIR', kinds.folder, ({ home }) => join(home, '.berth'), '~/.berth', 'Folder for all data'),
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
    'Folders in which an operator may create local projects',
  ),
  backupRoots: computed(
    'BERTH_BACKUP_ROOTS',
    kinds.folders,
    ({ dataDir }) => Object.freeze([join(dataDir, 'backups')]),
    'backups in the data folder',
    'Folders in which an operator may create local backup destinations',
  ),
  maxBackups: setting('BERTH_MAX_BACKUPS', wholeNumber(1, 64), 2, 'Maximum number of concurrent backup runs'),
  maxTasks: setting('BERTH_MAX_TASKS', wholeNumber(1, 64), 8, 'Maximum number of concurrent runs of scheduled tasks'),
  runtime: setting(
    'BERTH_RUNTIME',
    oneOf('auto', 'docker', 'process', 'swarm'),
    'auto',
    'Runtime of projects; auto: docker if it is reachable; swarm: services of a swarm of one node',
  ),
  dockerSocket: setting('BERTH_DOCKER_SOCKET', kinds.absoluteFile, '/var/run/docker.sock', 'Socket of the Docker engine'),
  networkRanges: setting(
    'BERTH_NETWORK_RANGE',
    kinds.privateRanges,
    null,
    "Address ranges for the Docker networks of projects; absent: the engine's own pools, or a rarely used range",
  ),
  imageMirror: setting('BERTH_IMAGE_MIRROR', kinds.imageMirror, null, 'Registry mirror for base images'),
  buildCacheMb: setting(
    'BERTH_BUILD_CACHE_MB',
    wholeNumber(0, 100_000_000),
    null,
    'Maximum size of the Docker build cache; absent: 10 GB or a fifth of the disk, whichever is less',
  ),
  allowRoot: setting('BERTH_ALLOW_ROOT', kinds.yesOrNo, true, 'Whether project containers may run as root'),
  isolation: setting(
    'BERTH_ISOLATION',
    oneOf('auto', 'bubblewrap', 'own-users', 'none'),
    'auto',
    'Isolation of projects that run as plain processes; auto: the strongest available',
  ),
  trustEveryone: setting(
    'BERTH_TRUST_EVERYONE',
    kinds.yesOrNo,
    false,
    'Whether several users may deploy although their projects are not isolated from each other',
  ),
  imageRegistries: setting(
    'BERTH_IMAGE_REGISTRIES',
    kinds.hosts,
    null,
    'Registries that images may be pulled from; absent: any, or in cloud mode the large public ones',
  ),
  imageCheckSeconds: setting(
    'BERTH_IMAGE_CHECK_SECONDS',
    wholeNumber(60, 604_800),
    300,
    'Interval for checking the registry for new images of auto-deployed projects',
  ),
  maxBuilds: setting('BERTH_MAX_BUILDS', wholeNumber(1, 64), 2, 'Maximum number of concurrent builds'),
  buildSilentSeconds: setting(
    'BERTH_BUILD_SILENT_SECONDS',
    wholeNumber(1, 1_800),
    600,
    'Time without output after which a build is stopped',
  ),
  onStop: setting(
    'BERTH_ON_STOP',
    oneOf('auto', 'keep', 'stop'),
    'auto',
    'What the edge and the projects do after SIGTERM; auto: serve for 10 s, so that a restart causes no outage; keep: serve until berth down; stop: stop',
  ),
  sleepAfterSeconds: setting(
    'BERTH_SLEEP_AFTER_SECONDS',
    wholeNumber(0, 31_536_000),
    900,
    'Idle time after which a project with sleep enabled is stopped; 0: never',
  ),
  serverWaitSeconds: setting(
    'BERTH_SERVER_WAIT_SECONDS',
    wholeNumber(0, 86_400),
    300,
    'How long a deployment waits for an unreachable server or Docker engine',
  ),
  jobLeaseSeconds: setting(
    'BERTH_JOB_LEASE_SECONDS',
    wholeNumber(1, 3600),
    30,
    'Lease of a job: another worker takes over when it is not renewed in time',
  ),
  secretKey: setting(
    'BERTH_SECRET_KEY',
    kinds.secretKeys,
    null,
    'Key that encrypts stored secrets; absent: generated in the data folder',
  ),
  adminEmail: setting('BERTH_ADMIN_EMAIL', kinds.emailAddress, null, 'Owner to create at the first start'),
  adminPassword: setting('BERTH_ADMIN_PASSWORD', secretText({ min: 8 }), null, 'Password of that owner'),
  signUp: setting(
    'BERTH_SIGN_UP',
    oneOf('closed', 'invitation', 'open'),
    'invitation',
    'Who can sign up on a cloud: no one, users invited by an operator, or everyone with an e-mail address',
  ),
  signUpsPerHour: setting(
    'BERTH_SIGN_UPS_PER_HOUR',
    wholeNumber(1, 1_000_000),
    100,
    'Maximum number of sign-up requests per hour, over all clients',
  ),
  allowPrivateWebhooks: setting(
    'BERTH_ALLOW_PRIVATE_WEBHOOKS',
    kinds.yesOrNo,
    false,
    'Whether webhooks may be sent to private addresses',
  ),
  smtpUrl: setting(
    'BERTH_SMTP_URL',
    secretUrl('an smtp:// or smtps:// address', 'smtp:', 'smtps:'),
    null,
    'SMTP server for outgoing mail; absent: no mail',
  ),
  slackHost: setting('BERTH_SLACK_HOST', kinds.hostAndPort, 'hooks.slack.com', 'Required host of Slack webhook URLs'),
  rateLimitScale: setting(
    'BERTH_RATE_LIMIT_SCALE',
    wholeNumber(1, 1_000_000),
    1,
    'Factor applied to every API rate limit; for benchmarks',
  ),
  upgradeCheck: setting(
    'BERTH_UPGRADE_CHECK',
    oneOf('on', 'off'),
    'on',
    'Whether berth upgrade --check and the dashboard may ask the package registry for newer versions',
  ),
  metricsToken: setting(
    'BERTH_METRICS_TOKEN',
    secretText({ min: 16 }),
    null,
    'Bearer token that may read GET /metrics; absent: only tokens of operators may',
  ),
  logLevel: setting(
    'BERTH_LOG_LEVEL',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'info',
    'Lowest log level that is written',
  ),
  logFormat: setting(
    'BERTH_LOG_FORMAT',
    oneOf('auto', 'json', 'text'),
    'auto',
    'Format of the log: text is for people, json for programs; auto: text on a terminal, else json',
  ),
} as const

export const githubSettings = {
  appId: setting('BERTH_GITHUB_APP_ID', wholeNumber(1, Number.MAX_SAFE_INTEGER), null, 'Id of the GitHub App'),
  privateKey: setting('BERTH_GITHUB_PRIVATE_KEY', kinds.privateKey, null, 'Private key of the GitHub App'),
  appSlug: setting('BERTH_GITHUB_APP_SLUG', kinds.plainName, null, 'Slug of the GitHub App in its install URL'),
  clientId: setting('BERTH_GITHUB_CLIENT_ID', kinds.plainName, null, 'OAuth client id'),
  clientSecret: setting('BERTH_GITHUB_CLIENT_SECRET', secretText(), null, 'OAuth client secret'),
  webhookSecret: setting('BERTH_GITHUB_WEBHOOK_SECRET', secretText(), null, 'Secret that webhook deliveries are signed with'),
  apiUrl: setting(
    'BERTH_GITHUB_API_URL',
    webAddress(),
    'https://api.github.com',
    'Base URL of the API, for an Enterprise or local host',
  ),
  webUrl: setting(
    'BERTH_GITHUB_WEB_URL',
    webAddress(),
    'https://github.com',
    'Base URL of the web pages, for an Enterprise or local host',
  ),
} as const

/** Settings of GitLab and Gitea (or Forgejo): the URL, and the OAuth application there. */
const hostSettings = <const Name extends string>(name: Name, title: string, url: string) => ({
  url: setting(`BERTH_${name}_URL`, webAddress(), url, `Where ${title} is`),
  clientId: setting(`BERTH_${name}_CLIENT_ID`, kinds.plainName, null, `OAuth client id at ${title}`),
  clientSecret: setting(`BERTH_${name}_CLIENT_SECRET`, secretText(), null, `OAuth client secret at ${title}`),
})
export const gitlabSettings = hostSettings('GITLAB', 'GitLab', 'https://gitlab.com')
export const giteaSettings = hostSettings('GITEA', 'Gitea or Forgejo', 'https://gitea.com')

/** A quota: limited by default in a cloud, unlimited on a self-hosted instance. */
const quota = (name: string, inCloud: number, max: number, help: string) =>
  computed<number | null>(
    `BERTH_QUOTA_${name}`,
    wholeNumber(1, max),
    ({ mode }) => (mode === 'cloud' ? inCloud : null),
    `${inCloud} in cloud mode, else none`,
    help,
  )

export const quotaSettings = {
  projects: quota('PROJECTS', 20, 1_000_000, 'Maximum number of projects per organisation'),
  cpuCores: quota('CPU_CORES', 24, 1_000_000, 'Maximum CPU cores of all environments of an organisation together'),
  memoryMb: quota('MEMORY_MB', 16_384, 1_000_000_000, 'Maximum memory of all environments of an organisation together'),
  builds: quota('BUILDS', 2, 1000, 'Maximum number of concurrent deployments per organisation; the others wait'),
  organizations: quota('ORGANIZATIONS', 3, 1_000_000, 'Maximum number of organisations one user may own'),
  arrivingMb: quota('ARRIVING_MB', 20_480, 1_000_000_000, 'Maximum disk space of running imports per organisation'),
  uploads: quota(
    'UPLOADS',
    50,
    1_000_000,
    'Maximum number of uploads per organisation without a project; they are deleted after an hour',
  ),
} as const

/** The object store to which clients of a cloud upload folders directly. */
export const uploadSettings = {
  bucket: setting(
    'BERTH_UPLOADS_BUCKET',
    kinds.plainName,
    null,
    'Bucket for uploads to a cloud; absent: the instance stores them',
  ),
  endpoint: setting(
    'BERTH_UPLOADS_ENDPOINT',
    webAddress(),
    null,
    'S3 endpoint of that bucket, reachable by clients; absent: AWS',
  ),
  region: setting('BERTH_UPLOADS_REGION', kinds.plainName, 'us-east-1', 'Region of that bucket'),
  prefix: setting('BERTH_UPLOADS_PREFIX', kinds.plainName, 'berth-uploads', 'Folder in that bucket for uploads'),
  accessKeyId: setting(
    'BERTH_UPLOADS_ACCESS_KEY_ID',
    kinds.plainName,
    null,
    'Access key with permission to put, get, list and delete',
  ),
  secretAccessKey: setting('BERTH_UPLOADS_SECRET_ACCESS_KEY', secretText(), null, 'Secret access key'),
} as const

/** The DNS provider of the base domain, for a wildcard certificate. */
export const dnsSettings = {
  provider: setting(
    'BERTH_DNS_PROVIDER',
    oneOf('cloudflare', 'digitalocean', 'hetzner', 'hook'),
    null,
    'DNS provider of the base domain: free addresses get one wildcard certificate; absent: a certificate each',
  ),
  token: setting('BERTH_DNS_TOKEN', secretText(), null, 'API token of the DNS provider'),
  apiUrl: setting('BERTH_DNS_API_URL', webAddress(), null, 'Base URL of the DNS provider; absent: its public API'),
  hook: setting('BERTH_DNS_HOOK', kinds.commandLine, null, 'Program that creates and removes TXT records, for the provider hook'),
  waitSeconds: setting(
    'BERTH_DNS_WAIT_SECONDS',
    wholeNumber(0, 240),
    120,
    'Maximum wait until a new TXT record is visible in DNS',
  ),
} as const

const baseImage = (stack: string, projects: string) =>
  setting(`BERTH_BASE_IMAGE_${stack}`, kinds.image, null, `Docker image to build and run ${projects}`)

/** Base images by the docker runtime's stack names. */
export const baseImageSettings = {
  node: baseImage('NODE', 'Node projects'),
  bun: baseImage('BUN', 'Bun projects'),
  deno: baseImage('DENO', 'Deno projects'),
  python: baseImage('PYTHON', 'Python projects'),
  go: baseImage('GO', 'Go projects'),
  rust: baseImage('RUST', 'Rust projects'),
  ruby: baseImage('RUBY', 'Ruby projects'),
  php: baseImage('PHP', 'PHP projects'),
  java: baseImage('JAVA', 'Java or Kotlin projects'),
  dotnet: baseImage('DOTNET', '.NET projects'),
  elixir: baseImage('ELIXIR', 'Elixir projects'),
  static: baseImage('STATIC', 'static sites with a build step'),
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
  ...Object.values(dnsSettings),
]
