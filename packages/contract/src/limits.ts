/** Numbers of the spec and the contract, in one place. */
export const limits = {
  bodyBytes: 1024 * 1024,
  gitDeliveryBytes: 25 * 1024 * 1024,
  tarballBytes: 300 * 1000 * 1000,
  unpackedBytes: 2 * 1000 * 1000 * 1000,
  uploadSessionSeconds: 60 * 60,
  cpuCoresMaximum: 4,
  /** Replicas of one service. */
  replicasMaximum: 20,
  /** Services, networks and replicas of one project: each uses a container, a bridge or an address of the machine. */
  servicesMaximum: 100,
  networksMaximum: 20,
  instancesMaximum: 200,
  listDefault: 100,
  listMaximum: 500,
  deliveriesDefault: 50,
  deliveriesMaximum: 200,
  envKeyCharacters: 256,
  envValueBytes: 64 * 1024,
  /** Limits of one environment: variables, and the bytes of their keys and values. */
  envVariables: 1000,
  envBytes: 1024 * 1024,
  /** Bytes of all environments of a project, as stored. */
  envStoredBytes: 8 * 1024 * 1024,
  /** Route rules of a project, the bytes of their settings, and the user agents in them. */
  rulesMaximum: 200,
  ruleBytes: 512 * 1024,
  ruleUserAgents: 1000,
  /** Settings of all route rules of an organisation. */
  organizationRuleBytes: 4 * 1024 * 1024,
  streamTokenSeconds: 60,
  oauthStateSeconds: 600,
  cloneTokenSeconds: 55 * 60,
  /** Limits of a program run inside a project: duration, output, input, and how many run at once. */
  execSeconds: 60 * 60,
  execOutputBytes: 1024 * 1024 * 1024,
  execInputBytes: 1024 * 1024 * 1024,
  execsOfProject: 5,
  execsOfInstance: 50,
  /** Limits of scheduled tasks: number, duration and concurrent runs in a project, runs kept of each task, length of a command. */
  tasksOfProject: 100,
  taskSecondsMaximum: 24 * 60 * 60,
  taskRunsOfProject: 4,
  taskRunsKept: 100,
  taskCommandCharacters: 4000,
  /** Each link uses a network of the machine. */
  linksOfProject: 20,
  linksOfService: 100,
  metricPoints: 1500,
  metricDays: 30,
} as const

/**
 * Requests per minute. Public ones are counted per address (for IPv6 per /64), `signedIn` per user, and `account` counts wrong
 * passwords for one email address, from all clients.
 */
export const rateLimits = {
  publicWebhook: 120,
  login: 10,
  signUp: 5,
  account: 20,
  public: 300,
  signedIn: 3000,
} as const

export type RateLimitName = keyof typeof rateLimits
