import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type Docker from 'dockerode'
import { openEngine } from '../../packages/server/src/drivers/runtime/docker/engine.ts'
import { partOf } from './machine.ts'
import { tempFolder } from './temp-folder.ts'

/** An existing stack: containers, volumes and files that Berth did not create. */
export interface ForeignStack extends AsyncDisposable {
  name: string
  folder: string
  volume(name: string): string
  inspect(container: string): Promise<Docker.ContainerInspectInfo>
  /** The engine's whole description of the containers, without the log of health checks, which changes by itself. */
  inspectAll(): Promise<unknown>
  /** Creates a container as `docker run` would. */
  byHand(name: string, settings: Docker.ContainerCreateOptions, isStarted?: boolean): Promise<string>
}

/** Source of a service that appends a line to a file at every start and responds with the content of the file. */
const keeper = (file: string, port: number) =>
  `const fs=require('fs');fs.appendFileSync('${file}','start\\n');require('http').createServer((q,r)=>r.end(fs.readFileSync('${file}'))).listen(${port})`
const api =
  "require('http').createServer(async(q,r)=>r.end(process.env.API_TOKEN+' '+await(await fetch('http://db:5000')).text())).listen(4000)"
const web =
  "const fs=require('fs');require('http').createServer(async(q,r)=>r.end(fs.readFileSync('/site/index')+' '+fs.readFileSync('/motd')+' '+await(await fetch('http://api:4000')).text())).listen(3000)"
const healthy = "fetch('http://127.0.0.1:4000').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"

/**
 * Five services as Compose would have created them from files on disk: two named volumes, a mounted folder and a mounted file, an
 * env file, a health check and a chain of dependencies. Compose itself is not needed.
 */
export async function startForeignStack(name: string): Promise<ForeignStack> {
  const engine = openEngine(partOf('docker'))
  const place = await tempFolder('stack')
  const folder = place.path
  const image = partOf('nodeImage')
  const made: string[] = []
  await mkdir(join(folder, 'site'))
  await writeFile(join(folder, 'site', 'index'), 'the site')
  await writeFile(join(folder, 'motd'), 'of the day')
  await writeFile(join(folder, '.env'), `IMAGE=${image}\n`)
  await writeFile(join(folder, 'api.env'), 'API_TOKEN=canary-token\n')
  await writeFile(join(folder, 'compose.yaml'), composeText)
  const volume = (one: string) => `${name}_${one}`
  for (const one of ['data', 'cache']) await engine.createVolume({ Name: volume(one) })
  const network = await engine.createNetwork({ Name: `${name}_default` })

  const start = async (container: string, settings: Docker.ContainerCreateOptions, isStarted = true) => {
    // With separate query and body, the client does not repeat all settings in the URL.
    const created = await engine.createContainer({
      _query: { name: container },
      _body: { Image: image, ...settings },
    } as unknown as Docker.ContainerCreateOptions)
    made.push(created.id)
    if (isStarted) await created.start()
    return created.id
  }
  const service = (
    one: string,
    script: string,
    host: Docker.HostConfig = {},
    more: Docker.ContainerCreateOptions = {},
    needs = '',
  ) =>
    start(`${name}-${one}-1`, {
      Cmd: ['node', '-e', `process.on('SIGTERM',()=>process.exit());${script}`],
      Labels: {
        'com.docker.compose.project': name,
        'com.docker.compose.service': one,
        'com.docker.compose.project.working_dir': folder,
        'com.docker.compose.project.config_files': join(folder, 'compose.yaml'),
        'com.docker.compose.container-number': '1',
        ...(needs ? { 'com.docker.compose.depends_on': needs } : {}),
      },
      HostConfig: { NetworkMode: `${name}_default`, RestartPolicy: { Name: 'unless-stopped' }, ...host },
      NetworkingConfig: { EndpointsConfig: { [`${name}_default`]: { Aliases: [one] } } },
      ...more,
    })
  await service('db', keeper('/data/rows', 5000), { Binds: [`${volume('data')}:/data`] }, { ExposedPorts: { '5000/tcp': {} } })
  await service('cache', keeper('/cache/log', 6000), { Binds: [`${volume('cache')}:/cache`] })
  await service(
    'api',
    api,
    {},
    {
      Env: ['API_TOKEN=canary-token'],
      Healthcheck: { Test: ['CMD', 'node', '-e', healthy], Interval: 2e9, Timeout: 5e9, Retries: 20 },
    },
    'db:service_started:false,cache:service_started:false',
  )
  await service(
    'web',
    web,
    {
      Binds: [`${folder}/site:/site:ro`, `${folder}/motd:/motd:ro`],
      PortBindings: { '3000/tcp': [{ HostIp: '127.0.0.1', HostPort: '' }] },
    },
    { ExposedPorts: { '3000/tcp': {} } },
    'api:service_healthy:true',
  )
  await service('worker', 'setInterval(()=>{},1000)')
  const inspect = (container: string) => engine.getContainer(container).inspect()
  return {
    name,
    folder,
    volume,
    inspect,
    byHand: start,
    async inspectAll() {
      const all = await Promise.all(made.map(inspect))
      // A running health check changes Health and ExecIDs. The engine lists mounts in any order.
      return all.map(({ State: { Health: _health, ...state }, ExecIDs: _execIds, Mounts, ...rest }) => ({
        ...rest,
        State: state,
        Mounts: Mounts.sort((one, other) => one.Destination.localeCompare(other.Destination)),
      }))
    },
    async [Symbol.asyncDispose]() {
      for (const id of made) await engine.getContainer(id).remove({ force: true })
      for (const one of ['data', 'cache']) await engine.getVolume(volume(one)).remove()
      await network.remove()
      await place[Symbol.asyncDispose]()
    },
  }
}

const composeText = `services:
  db: { image: "\${IMAGE}", volumes: ["data:/data"], restart: unless-stopped }
  cache: { image: "\${IMAGE}", volumes: ["cache:/cache"], restart: unless-stopped }
  api: { image: "\${IMAGE}", env_file: api.env, depends_on: [db, cache], restart: unless-stopped }
  web:
    image: "\${IMAGE}"
    volumes: ["./site:/site:ro", "./motd:/motd:ro"]
    ports: ["127.0.0.1::3000"]
    depends_on: { api: { condition: service_healthy } }
    restart: unless-stopped
  worker: { image: "\${IMAGE}", restart: "no" }
  later: { image: "\${IMAGE}", profiles: [extra] }
volumes: { data: {}, cache: {} }
`
