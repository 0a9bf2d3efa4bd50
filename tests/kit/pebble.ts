import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { startDaemon } from './daemon.ts'
import { freePorts } from './free-port.ts'
import { tempFolder } from './temp-folder.ts'

export interface PebbleOptions {
  pebble: string
  challtestsrv: string
  /** Ports at which the authority validates http-01 and tls-alpn-01 challenges: those of the edge under test. */
  httpPort: number
  tlsPort?: number
}

export interface Pebble extends AsyncDisposable {
  readonly directoryUrl: string
  /** CA of the directory's own https: give it to the client as NODE_EXTRA_CA_CERTS. */
  readonly caFile: string
  /** Root certificate (PEM) of the certificates that this authority issues. Pebble makes a new one at every start. */
  rootCertificate(): Promise<string>
  /** Sets the address to which the authority's name server resolves a name; null: 127.0.0.1 again. */
  pointName(hostname: string, address: string | null): Promise<void>
  /** The name server of the authority, and the URL at which it accepts TXT records (`set-txt` and `clear-txt`). */
  readonly dnsServer: string
  readonly dnsManagementUrl: string
  /** Output so far: each order is a line. */
  output(): string
  stop(): Promise<void>
}

/** A real ACME authority on loopback. Its DNS resolves every name to 127.0.0.1. */
export async function startPebble({ pebble, challtestsrv, httpPort, tlsPort }: PebbleOptions): Promise<Pebble> {
  const folder = await tempFolder('pebble')
  const [port, managementPort, dnsPort, dnsManagementPort, noTlsPort] = await freePorts(5)
  const caFile = join(folder.path, 'directory.pem')
  const keyFile = join(folder.path, 'directory.key')
  await makeCertificate(caFile, keyFile)
  const config = join(folder.path, 'config.json')
  const settings = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: caFile,
    privateKey: keyFile,
    httpPort,
    tlsPort: tlsPort ?? noTlsPort,
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
  }
  await writeFile(config, JSON.stringify({ pebble: settings }))
  const dnsArgs = ['-dns01', `127.0.0.1:${dnsPort}`, '-management', `127.0.0.1:${dnsManagementPort}`, '-defaultIPv6', '']
  const dns = await startDaemon({
    program: challtestsrv,
    args: [...dnsArgs, '-http01', '', '-https01', '', '-tlsalpn01', ''],
    ready: { port: dnsManagementPort! },
  })
  // By default Pebble delays requests, rejects requests and reuses authorizations at random, to test the retries of clients.
  const env = { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0', PEBBLE_AUTHZREUSE: '0' }
  const args = ['-config', config, '-dnsserver', `127.0.0.1:${dnsPort}`]
  const authority = await startDaemon({ program: pebble, args, env, ready: { port: port! } }).catch(async (error) => {
    await dns.stop(0)
    throw error
  })
  const stop = async () => {
    await Promise.all([authority.stop(2000), dns.stop(2000)])
    await folder.remove()
  }
  return {
    directoryUrl: `https://127.0.0.1:${port}/dir`,
    caFile,
    rootCertificate: async () => fetchTrusting(`https://127.0.0.1:${managementPort}/roots/0`, await readFile(caFile, 'utf8')),
    pointName: (hostname, address) => pointName(`http://127.0.0.1:${dnsManagementPort}`, hostname, address),
    dnsServer: `127.0.0.1:${dnsPort}`,
    dnsManagementUrl: `http://127.0.0.1:${dnsManagementPort}`,
    output: () => authority.output(),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

async function pointName(managementUrl: string, hostname: string, address: string | null) {
  const host = `${hostname}.`
  const body = JSON.stringify(address ? { host, addresses: [address] } : { host })
  const answer = await fetch(`${managementUrl}/${address ? 'add-a' : 'clear-a'}`, { method: 'POST', body })
  if (!answer.ok) throw new Error(`the name server answered ${answer.status}`)
}

async function makeCertificate(caFile: string, keyFile: string) {
  const names = 'subjectAltName=IP:127.0.0.1,DNS:localhost'
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  await promisify(execFile)('openssl', [...args, '-subj', '/CN=pebble', '-addext', names, '-keyout', keyFile, '-out', caFile])
}

function fetchTrusting(url: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { ca }, (reply) => text(reply).then(resolve, reject)).on('error', reject)
  })
}
