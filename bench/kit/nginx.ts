import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startDaemon } from '../../tests/kit/daemon.ts'
import { programAt } from '../edge-load.ts'

export interface NginxOptions {
  name: string
  port: number
  /** `server` blocks and other directives of the http block. */
  servers: string
  core: string | undefined
  folder: string
}

/** nginx with one worker, pinned to one core if there are several. */
export async function startNginx({ name, port, servers, core, folder }: NginxOptions) {
  const nginx = programAt('nginx')
  if (!nginx) throw new Error('nginx has to be installed')
  const config = join(folder, `${name}.conf`)
  await writeFile(
    config,
    `daemon off; worker_processes 1; worker_rlimit_nofile 20000; pid ${join(folder, `${name}.pid`)};
    error_log ${join(folder, `${name}.log`)}; events { worker_connections 16384; }
    http { access_log off; keepalive_requests 1000000000; ${servers} }`,
  )
  const args = ['-p', folder, '-c', config]
  const program = core === undefined ? nginx : 'taskset'
  return startDaemon({ program, args: core === undefined ? args : ['-c', core, nginx, ...args], ready: { port } })
}

/** Configures a server with a fixed response of this size, which takes almost no CPU time. */
export const originServer = (port: number, bytes = 100) =>
  `server { listen 127.0.0.1:${port}; location / { default_type text/plain; return 200 "${'x'.repeat(bytes)}"; } }`
