import { execFile } from 'node:child_process'
import { resolve4, resolve6 } from 'node:dns/promises'
import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { connect } from 'node:tls'
import { errorText } from '../../error-text.ts'
import type { Settings } from '../../server-commands.ts'

export interface Finding {
  check: string
  status: 'ok' | 'warn' | 'fail'
  message: string
  /** The command or setting that corrects it. */
  fix?: string
}

type Result = Omit<Finding, 'check'>

const ok = (message: string): Result => ({ status: 'ok', message })
const warn = (message: string, fix: string): Result => ({ status: 'warn', message, fix })
const bad = (message: string, fix: string): Result => ({ status: 'fail', message, fix })

const timeoutMs = 5_000
const gigabyte = 1e9
const neededNode = 24

/** The checks, in the order of the report. They read only. */
export const checks: Readonly<Record<string, (config: Settings) => Result | Promise<Result>>> = {
  node: () => {
    const major = Number.parseInt(process.versions.node, 10)
    return major >= neededNode
      ? ok(`Node ${process.version}`)
      : bad(`Node ${process.version} is too old`, `Install Node ${neededNode} or later`)
  },
  settings: ({ warnings }) =>
    warnings.length === 0
      ? ok('all settings are valid')
      : warn(warnings.join('; '), 'Correct the variables: berth settings lists them'),
  disk: ({ dataDir }) => {
    const { bavail, bsize, blocks } = statfsSync(existingFolder(dataDir))
    const [free, share] = [bavail * bsize, bavail / blocks]
    const message = `${(free / gigabyte).toFixed(1)} GB free (${Math.round(share * 100)} %) for ${dataDir}`
    const fix = 'Free space (berth storage shows what builds use), or move the data folder to a larger disk'
    if (free < gigabyte) return bad(message, fix)
    return free < 5 * gigabyte || share < 0.05 ? warn(message, fix) : ok(message)
  },
  keys: ({ dataDir, secretKey }) => {
    const files = ['secret-keys.json', 'backup.key'].map((name) => join(dataDir, name)).filter((file) => existsSync(file))
    const open = files.filter((file) => (statSync(file).mode & 0o077) !== 0)
    if (open.length > 0) return bad(`other users can read ${open.join(', ')}`, `chmod 600 ${open.join(' ')}`)
    if (files.length === 0 && secretKey === null) return ok('no keys yet: the first start creates them')
    if (files.length === 0) return ok('BERTH_SECRET_KEY is set. Keep a copy on another machine')
    return ok(`${files.join(', ')}: readable by the owner only. Keep copies on another machine`)
  },
  clock: async ({ acmeDirectory, edgeTlsPort }) => {
    if (edgeTlsPort === null)
      return ok('not checked: the clock is compared with that of the certificate authority, which only https needs')
    const answer = await fetch(acmeDirectory, { method: 'HEAD', signal: AbortSignal.timeout(timeoutMs) }).catch(() => null)
    const date = Date.parse(answer?.headers.get('date') ?? '')
    if (Number.isNaN(date))
      return warn(`${new URL(acmeDirectory).host} is unreachable`, 'Allow outgoing https: certificates need it')
    const seconds = Math.round(Math.abs(Date.now() - date) / 1000)
    return seconds > 60
      ? bad(`the clock is ${seconds} s off`, 'Turn time synchronization on: timedatectl set-ntp true')
      : ok(`within ${seconds} s of ${new URL(acmeDirectory).host}`)
  },
  ports: async ({ host, port, edgeHost, edgePort, edgeTlsPort, dataDir }) => {
    const wanted: [string, number][] = [
      [host, port],
      [edgeHost ?? host, edgePort],
      ...(edgeTlsPort === null ? [] : [[edgeHost ?? host, edgeTlsPort] as [string, number]]),
    ]
    const results = await Promise.all(
      wanted.map(async ([address, number]) => ({ address, number, code: await listenError(address, number) })),
    )
    const denied = results.filter(({ code }) => code === 'EACCES').map(({ number }) => number)
    const used = results.filter(({ code }) => code === 'EADDRINUSE').map(({ number }) => number)
    const other = results.filter(({ code }) => code !== null && code !== 'EACCES' && code !== 'EADDRINUSE')
    const all = wanted.map(([, number]) => number).join(', ')
    if (denied.length > 0)
      return bad(
        `this user may not listen on ${denied.join(', ')}`,
        'sysctl net.ipv4.ip_unprivileged_port_start=80, or run Berth as root',
      )
    if (other.length > 0)
      return bad(
        `${other[0]!.address} is not an address of this machine (${other[0]!.code})`,
        'Correct BERTH_HOST or BERTH_EDGE_HOST',
      )
    if (used.length === 0) return ok(`${all} are free`)
    return isRunning(dataDir)
      ? ok(`used by the running instance: ${used.join(', ')}`)
      : bad(`used by another program: ${used.join(', ')}`, 'Stop it (ss -ltnp names it), or set BERTH_PORT or BERTH_EDGE_PORT')
  },
  dns: async ({ baseDomain, publicAddress }) => {
    if (!isPublic(baseDomain)) return ok(`${baseDomain} needs no DNS record`)
    const name = `berth.${baseDomain}`
    const found = (await Promise.all([resolve4(name).catch(() => []), resolve6(name).catch(() => [])])).flat()
    const target = publicAddress?.join(', ') ?? '<address of this machine>'
    if (found.length === 0) return bad(`${name} has no address`, `Create the DNS record *.${baseDomain} A ${target}`)
    const isOurs = publicAddress === null || found.some((address) => publicAddress.includes(address))
    return isOurs
      ? ok(`${name} is ${found.join(', ')}`)
      : bad(`${name} is ${found.join(', ')}`, `Set *.${baseDomain} to ${target}`)
  },
  'public address': ({ baseDomain, publicAddress, host, edgeHost }) => {
    if (!isPublic(baseDomain)) return ok('not needed: the base domain is local')
    if (['127.0.0.1', '::1', 'localhost'].includes(edgeHost ?? host))
      return bad(`the edge listens on ${edgeHost ?? host} only`, 'Set BERTH_EDGE_HOST=0.0.0.0')
    return publicAddress === null
      ? warn('not set', 'Set BERTH_PUBLIC_ADDRESS, so that Berth can show the DNS records to create')
      : ok(publicAddress.join(', '))
  },
  certificate: async ({ baseDomain, edgeTlsPort, dataDir, host, edgeHost }) => {
    if (edgeTlsPort === null) {
      if (!isPublic(baseDomain)) return ok('not needed: no https')
      return warn('projects are served without https', 'Set BERTH_EDGE_TLS_PORT=443')
    }
    if (!isRunning(dataDir)) return ok('not checked: the instance does not run')
    const end = await certificateEnd(`berth.${baseDomain}`, connectAddress(edgeHost ?? host), edgeTlsPort)
    const fix = 'Read the log for lines with "certificates"'
    if (end === null) return bad(`no certificate for berth.${baseDomain}`, fix)
    const remainingMs = end - Date.now()
    const days = Math.floor(Math.abs(remainingMs) / 86_400_000)
    const duration = `${days} ${days === 1 ? 'day' : 'days'}`
    if (remainingMs <= 0) return bad(`expired ${days === 0 ? 'less than a day' : duration} ago`, fix)
    return days < 14 ? warn(`expires in ${duration}`, fix) : ok(`valid for ${duration}`)
  },
  docker: async ({ dockerSocket, runtime }) => {
    const status = await pingDocker(dockerSocket)
    if (status === null) return ok(`the engine at ${dockerSocket} answers`)
    const fix = 'Start Docker, add this user to its group, or set BERTH_DOCKER_SOCKET'
    return runtime === 'docker' || runtime === 'swarm'
      ? bad(`${dockerSocket}: ${status}`, fix)
      : warn(`${dockerSocket}: ${status}. Projects run as plain processes`, fix)
  },
  bubblewrap: async ({ isolation }) => {
    const problem = await run('bwrap', ['--ro-bind', '/', '/', 'true'])
    if (problem === null) return ok('plain processes are isolated from each other')
    const fix = 'apt install bubblewrap; if it is installed, allow user namespaces: sysctl kernel.unprivileged_userns_clone=1'
    return isolation === 'bubblewrap' ? bad(problem, fix) : warn(`${problem}. Only plain processes need it`, fix)
  },
  cgroups: () => {
    const file = '/sys/fs/cgroup/cgroup.controllers'
    const controllers = existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ') : []
    const missing = ['cpu', 'memory', 'pids'].filter((name) => !controllers.includes(name))
    return missing.length === 0
      ? ok('cpu, memory and pids can be limited')
      : warn(
          `cgroup v2 has no ${missing.join(', ')}`,
          'Boot with systemd.unified_cgroup_hierarchy=1; limits of plain processes need it',
        )
  },
  nginx: async ({ edge }) => {
    if (edge !== 'nginx') return ok('not needed: BERTH_EDGE is embedded')
    const outputs = await Promise.all(
      ['nginx', '/usr/sbin/nginx', '/usr/local/sbin/nginx'].map((program) => readOutput(program, ['-v'])),
    )
    const version = /nginx\/(\d+)\.(\d+)\.\d+/.exec(outputs.find((output) => output !== null) ?? '')
    const fix = 'apt install nginx-light, or set BERTH_EDGE=embedded'
    if (!version) return bad('nginx is not installed', fix)
    const isOld = Number(version[1]) === 0 || (Number(version[1]) === 1 && Number(version[2]) < 20)
    return isOld ? bad(`${version[0]} is too old: 1.20 or later is needed`, fix) : ok(version[0].replace('/', ' '))
  },
  git: async () => {
    const problem = await run('git', ['--version'])
    return problem === null ? ok('git is installed') : warn(problem, 'apt install git; projects from repositories need it')
  },
}

export async function runChecks(config: Settings): Promise<Finding[]> {
  return Promise.all(
    Object.entries(checks).map(async ([check, find]) => {
      try {
        return { check, ...(await find(config)) }
      } catch (error) {
        return {
          check,
          ...bad(errorText(error), 'Correct the reason and run berth doctor again'),
        }
      }
    }),
  )
}

const isPublic = (domain: string): boolean => domain.includes('.') && !/(^|\.)localhost$/.test(domain)

const existingFolder = (path: string): string =>
  existsSync(path) || path === dirname(path) ? path : existingFolder(dirname(path))

/** Whether the process that `in-use.json` of the data folder names is running. */
function isRunning(dataDir: string): boolean {
  try {
    const { pid } = JSON.parse(readFileSync(join(dataDir, 'in-use.json'), 'utf8')) as { pid: number }
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const listenError = (host: string, port: number): Promise<string | null> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'))
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })

const run = (program: string, args: string[]): Promise<string | null> =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: timeoutMs }, (error, _stdout, stderr) => {
      if (!error) return resolve(null)
      resolve(
        error.code === 'ENOENT' ? `${program} is not installed` : `${program}: ${stderr.trim().split('\n')[0] || error.message}`,
      )
    })
  })

/** Output of a program; null if it cannot be run. */
const readOutput = (program: string, args: string[]): Promise<string | null> =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: timeoutMs }, (error, stdout, stderr) => resolve(error ? null : `${stdout}${stderr}`))
  })

const pingDocker = (socketPath: string): Promise<string | null> =>
  new Promise((resolve) => {
    const ping = request({ socketPath, path: '/_ping', timeout: timeoutMs }, (response) => {
      response.resume()
      resolve(response.statusCode === 200 ? null : `status ${response.statusCode}`)
    })
    ping.on('timeout', () => ping.destroy(new Error('timed out')))
    ping.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ENOENT' ? 'no Docker engine' : error.message))
    ping.end()
  })

/** Address to connect to: a listener on every address of the machine is reached at the loopback address. */
const connectAddress = (listenAddress: string): string => (isEveryAddress(listenAddress) ? '127.0.0.1' : listenAddress)

/** Whether the address is the unspecified one, such as `0.0.0.0`, `::` or `0:0:0:0:0:0:0:0`. */
const isEveryAddress = (address: string): boolean => /^[0:.]+$/.test(address)

/** Time at which the served certificate expires; null if none is served. */
const certificateEnd = (servername: string, host: string, port: number): Promise<number | null> =>
  new Promise((resolve) => {
    // Only the dates are read: nothing is sent over this connection.
    const socket = connect({ host, port, servername, rejectUnauthorized: false, timeout: timeoutMs }, () => {
      const end = Date.parse(socket.getPeerCertificate().valid_to)
      socket.destroy()
      resolve(Number.isNaN(end) ? null : end)
    })
    socket.on('error', () => resolve(null))
    socket.on('timeout', () => socket.destroy(new Error('timed out')))
  })
