import { createHash } from 'node:crypto'
import type { EdgeAddress } from '../../../edge-proxy/protocol/edge-listening.ts'
import {
  defaultLimits,
  type EdgeCertificate,
  type EdgeHost,
  type EdgeLimits,
  type EdgeTable,
  type EdgeUpstream,
} from '../../../edge-proxy/protocol/edge-table.ts'
import { findCertificate } from '../../../edge-proxy/protocol/find-certificate.ts'
import { type LogOwner, nginxFiles } from '../../../edge-proxy/protocol/nginx-files.ts'
import { addressText, encodedText, isCertificateName, isPlainHostname, rangeText, timeText } from './config-text.ts'
import { checkText, closingLine, deliveryLocation, helperFiles, serverText, statuses } from './helper-config.ts'
import { directHeaders, isAtLeast, mainText } from './main-config.ts'

/** Inputs of the configuration beside the table. */
export interface NginxSettings {
  http: EdgeAddress
  https: EdgeAddress | null
  /** The user that the workers run as if Berth runs as root; null: nginx cannot change its user. */
  user: string | null
  /** `[major, minor, patch]` of the installed nginx. */
  version: readonly [number, number, number]
  /** Number of worker processes. */
  workers: number
}

export interface NginxConfig {
  /** Texts by file name, in the folder of the configuration. */
  files: Record<string, string>
  /** Certificate and key in one PEM text, by file name, in the folder of certificates. */
  certificates: Map<string, string>
  /** Addresses of the upstreams that nginx connects to itself, by upstream id. */
  upstreams: Map<string, EdgeAddress>
  /** The project of each of them. */
  projects: Map<string, string>
  warnings: string[]
}

/**
 * Builds the configuration of a routing table. nginx connects to the instances of running deployments itself. Everything else (waking,
 * redirects, pages, files, ACME challenges, the dashboard) and every check of a rule goes to the edge helper behind nginx, which has
 * the same table: a host without a server block of its own reaches the helper through the default one. So a change of rules, or of a
 * project that does not run, changes nothing here.
 */
export function nginxConfig(table: EdgeTable, settings: NginxSettings): NginxConfig {
  return new ConfigBuilder(table, settings).build()
}

class ConfigBuilder {
  readonly #table: EdgeTable
  readonly #settings: NginxSettings
  readonly #limits: EdgeLimits
  readonly #certificates = new Map<string, string>()
  readonly #certificateNames = new Map<string, string>()
  readonly #groups = new Map<string, string>()
  readonly #upstreams = new Map<string, EdgeAddress>()
  readonly #projects = new Map<string, string>()
  readonly #servers: string[] = []
  readonly #names: string[] = []
  readonly #warnings: string[] = []

  constructor(table: EdgeTable, settings: NginxSettings) {
    this.#table = table
    this.#settings = settings
    this.#limits = { ...defaultLimits, ...table.limits }
  }

  build(): NginxConfig {
    const { https } = this.#settings
    if (https) this.#addCertificates()
    const deliveries = new Set(this.#table.deliveries?.hostnames)
    const secured = new Set<string>()
    for (const [name, host] of Object.entries(this.#table.hosts)) {
      const hostname = name.toLowerCase()
      const group = isPlainHostname(hostname) ? this.#groupOf(host) : undefined
      if (group === undefined) continue
      const certificate = https ? findCertificate(this.#certificateNames, hostname) : undefined
      const isPlain = !(https && (host.redirectToHttps || host.requestCertificate))
      if (!isPlain && certificate === undefined) continue
      if (certificate !== undefined) secured.add(hostname)
      const listens = [...(isPlain ? listenTexts(this.#settings.http) : []), ...(certificate ? this.#securedListens() : [])]
      this.#names.push(...this.#nameLines(hostname))
      this.#servers.push(
        this.#hostServer(hostname, host, { group, listens, certificate, hasDeliveries: deliveries.has(hostname) }),
      )
    }
    // Other host names of a certificate: the helper responds.
    for (const [name, file] of this.#certificateNames)
      if (!secured.has(name)) this.#servers.push(helperServer(name, this.#securedListens(), certificateLines(file)))
    return {
      files: this.#files(),
      certificates: this.#certificates,
      upstreams: this.#upstreams,
      projects: this.#projects,
      warnings: this.#warnings,
    }
  }

  #files(): Record<string, string> {
    const trusted = this.#trustedProxies()
    const { http, https, version, user, workers } = this.#settings
    const defaults = { http: listenTexts(http), https: https ? listenTexts(https, this.#securedOptions()) : [] }
    const names = Object.keys(this.#table.hosts).length + this.#certificateNames.size
    return {
      [nginxFiles.main]: mainText({ limits: this.#limits, trusted, names, user, version, workers, listens: defaults }),
      'direct.conf': directHeaders(trusted.length > 0),
      ...helperFiles,
      'check.conf': checkText,
      'server.conf': serverText,
      'names.conf': this.#names.join(''),
      'hosts.conf': [...this.#groups.values(), ...this.#servers].join(''),
    }
  }

  #trustedProxies(): string[] {
    return (this.#table.trustedProxies ?? []).flatMap((entry) => rangeText(entry.trim()) ?? [])
  }

  #addCertificates(): void {
    for (const [name, pair] of Object.entries(this.#table.certificates ?? {})) {
      if (!isCertificateName(name)) {
        this.#warnings.push(`certificate of ${JSON.stringify(name)}: not a host name`)
        continue
      }
      const file = certificateFile(pair)
      this.#certificates.set(file, `${pair.cert.trim()}\n${pair.key.trim()}\n`)
      this.#certificateNames.set(name, file)
    }
  }

  /** The upstream group of a running deployment; undefined if the helper must serve this host. */
  #groupOf({ target }: EdgeHost): string | undefined {
    if (target.kind !== 'upstreams') return undefined
    // nginx cannot check which process listens at an address.
    if (target.upstreams.some(({ listener }) => listener)) return undefined
    const used = target.upstreams.filter((upstream) => weightOf(upstream) > 0)
    const lines = used.map((upstream) => upstreamLine(upstream, used.length))
    if (lines.length === 0 || lines.includes(undefined)) return undefined
    const text = `${lines.join('')}  keepalive 64;\n  keepalive_requests 100000;\n  keepalive_timeout 4s;\n`
    const name = `berth_${hashOf(text)}`
    this.#groups.set(name, `upstream ${name} {\n${text}}\n`)
    for (const { id, host, port } of used) {
      this.#upstreams.set(id, { host, port })
      this.#projects.set(id, target.projectId)
    }
    return name
  }

  #hostServer(hostname: string, host: EdgeHost, parts: ServerParts): string {
    const { group, listens, certificate, hasDeliveries } = parts
    const check = host.rules?.some(({ enabled }) => enabled) ? checkedLines : ''
    const certificateText = certificate === undefined ? '' : certificateLines(this.#certificateNames.get(certificate)!)
    const { projectId = '' } = host.target
    return `server {
${listens.map((listen) => `  listen ${listen};\n`).join('')}  server_name ${hostname};
${certificateText}  set $berth_owner "${ownerText(host)}";
  set $berth_project "${hashOf(projectId)}";
  include server.conf;
  location / {
    if ($berth_upgrade) { return ${statuses.tunnel}; }
    ${closingLine(statuses.closing)}
${check}${this.#shareLines()}    proxy_pass http://${group};
  }
  location @berth_closing {
    keepalive_timeout 0;
${check}${this.#shareLines()}    proxy_pass http://${group};
  }
  location @berth_tunnel {
${check}${this.#shareLines()}    proxy_read_timeout ${timeText(this.#limits.tunnelIdleMs)};
    proxy_send_timeout ${timeText(this.#limits.tunnelIdleMs)};
    proxy_pass http://${group};
  }
${check === '' ? '' : '  location = /.berth-check { internal; include check.conf; }\n'}${hasDeliveries ? deliveryLocation : ''}}
`
  }

  /** Entries of the map from a Host header to its port. A name without a dot could be a keyword of the map. */
  #nameLines(hostname: string): string[] {
    const { http, https } = this.#settings
    const ports = new Set([http.port, ...(https ? [https.port] : [])])
    if (!hostname.includes('.')) return []
    return [`${hostname} "";\n`, ...[...ports].map((port) => `${hostname}:${port} :${port};\n`)]
  }

  #shareLines(): string {
    const { connections, clientShare, projectShare } = this.#limits
    return `    limit_conn berth_clients ${shareOf(connections, clientShare)};
    limit_conn berth_projects ${shareOf(connections, projectShare)};
`
  }

  #securedListens(): string[] {
    return listenTexts(this.#settings.https!, this.#securedOptions())
  }

  /** HTTP/2 is a directive instead of an option since 1.25.1. */
  #securedOptions(): string {
    return isAtLeast(this.#settings.version, [1, 25, 1]) ? ' ssl' : ' ssl http2'
  }
}

interface ServerParts {
  group: string
  listens: string[]
  certificate: string | undefined
  hasDeliveries: boolean
}

const checkedLines = `    auth_request /.berth-check;
    auth_request_set $berth_refusal $upstream_http_berth_refusal;
`

const helperServer = (name: string, listens: readonly string[], certificateText: string) => `server {
${listens.map((listen) => `  listen ${listen};\n`).join('')}  server_name ${name};
${certificateText}  include server.conf;
  location / { include serve.conf; }
}
`

const certificateLines = (file: string) =>
  `  ssl_certificate ../certificates/${file};\n  ssl_certificate_key ../certificates/${file};\n`

/** The owner of a request in the access log. */
const ownerText = ({ target, environment, service }: EdgeHost) =>
  encodedText(
    JSON.stringify([
      target.projectId ?? null,
      'deploymentId' in target ? target.deploymentId : null,
      environment ?? null,
      service ?? null,
    ] satisfies LogOwner),
  )

const weightOf = ({ weight }: EdgeUpstream) => Math.min(100, Math.max(0, Math.round(weight ?? 1)))

/** A single instance is always tried; one of several that refuses a connection is avoided for a second. */
function upstreamLine(upstream: EdgeUpstream, count: number): string | undefined {
  const address = addressText(upstream.host, upstream.port)
  const weight = count > 1 && weightOf(upstream) > 1 ? ` weight=${weightOf(upstream)}` : ''
  return address && `  server ${address}${weight}${count > 1 ? ' max_fails=1 fail_timeout=1s' : ' max_fails=0'};\n`
}

/** All addresses of both families are two listening sockets: a client's IPv4 address then has its usual form. */
export function listenTexts({ host, port }: EdgeAddress, options = ''): string[] {
  const addresses =
    host === '::' ? [`0.0.0.0:${port}`, `[::]:${port}`] : [addressText(host === 'localhost' ? '127.0.0.1' : host, port)]
  return addresses.map((address) => {
    if (address === undefined) throw new Error(`nginx cannot listen on ${JSON.stringify(host)} port ${port}. Set an IP address.`)
    return address + options
  })
}

const shareOf = (total: number, share: number) => Math.max(1, Math.floor(total * share))
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 20)
const certificateFile = ({ cert, key }: EdgeCertificate) => `${hashOf(`${cert}\0${key}`)}.pem`
