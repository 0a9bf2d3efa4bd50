import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { describeNeeding, lookUp, partOf } from '../../../../../../tests/kit/machine.ts'
import { checkListener } from '../../../platform/listener/listener-check.ts'
import { publicRegistries } from '../../registry/public-registries.ts'
import { createRunCommand } from '../../shell/run-command.ts'
import { createDownload } from '../../web-request/download.ts'
import { type BuildPlan, emptyPlan } from '../build-plan.ts'
import type { Artifact, StartRequest } from '../runtime.ts'
import { createDockerRuntime } from './docker-runtime.ts'
import { type Engine, openEngine } from './engine.ts'
import { readIdentity } from './identity.ts'
import { removeEverythingOf } from './remove-everything.ts'
import { bridgePrefix, EgressFilter } from './run/egress-filter.ts'

/** Tests with a project that attacks its neighbours and the machine, on a real engine. */

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 })

const neverAborted = new AbortController().signal
const resources = { cpuCores: 1, memoryMb: 256, diskMb: 200 }
const shell = createRunCommand(process.env)
const isRoot = process.getuid?.() === 0
/** Prints the response of an address and port, or why there was none. */
const requesting = `const [host, port] = process.argv.slice(1); const s = require('net').connect(+port, host)
s.setTimeout(3000, () => { console.log('silent'); process.exit() }); s.on('error', (error) => console.log(error.code))
s.on('connect', () => s.write('GET / HTTP/1.0\\r\\n\\r\\n')); s.on('data', (data) => { console.log(String(data)); process.exit() })`
  .split('\n')
  .join('; ')
const plan: BuildPlan = { ...emptyPlan, kind: 'dockerfile', port: 3000 }

describeNeeding(['docker', 'busyboxImage', 'nodeImage'], 'an attacking project', () => {
  const seed = randomBytes(4).toString('hex')
  const folders: string[] = []
  let engine: Engine
  let home: ReturnType<typeof createDockerRuntime>
  let cloud: ReturnType<typeof createDockerRuntime>
  let openCloud: () => ReturnType<typeof createDockerRuntime>
  let instance: { home: string; cloud: string }
  let listener: Server
  let port: number
  let hits: string[] = []
  let lines: string[] = []

  const owner = (project: string, deployment = randomBytes(3).toString('hex')) => ({
    projectId: `prj_${seed}${project}`,
    deploymentId: `dep_${seed}${deployment}`,
    environment: 'production',
  })
  const folder = async (files: Record<string, string> = {}) => {
    const path = await mkdtemp(join(tmpdir(), 'berth-attack-'))
    folders.push(path)
    for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text)
    return path
  }
  const build = async (
    project: string,
    dockerfile: string,
    { runtime = home, source = '', changes = {} as Partial<BuildPlan> } = {},
  ) => {
    lines = []
    return runtime.build(
      {
        owner: owner(project),
        service: '',
        sourceFolder: source || (await folder({ Dockerfile: dockerfile })),
        plan: { ...plan, ...changes },
        secrets: {},
        resources,
        timeoutMs: 60_000,
      },
      ({ message }) => lines.push(message),
      neverAborted,
    )
  }
  const start = (project: string, artifact: Artifact, changes: Partial<StartRequest> = {}, runtime = home) =>
    runtime.start(
      {
        instanceId: `ins_${seed}${randomBytes(3).toString('hex')}`,
        owner: owner(project, 'run'),
        service: '',
        artifact,
        command: ['sleep', '600'],
        entrypoint: null,
        env: {},
        port: null,
        volumes: [],
        network: null,
        resources,
        restart: false,
        ...changes,
      },
      neverAborted,
    )
  const image = (reference: string): Artifact => ({ kind: 'image', reference, sizeBytes: 0, startCommand: null })
  const busybox = () => image(partOf('busyboxImage'))
  const node = () => image(partOf('nodeImage'))
  const inside = async (instanceId: string, words: string[], runtime = home) => {
    let out = ''
    const { exitCode, stderrTail } = await runtime.exec(
      instanceId,
      {
        argv: words,
        onStdout: (chunk) => {
          out += new TextDecoder().decode(chunk)
        },
      },
      neverAborted,
    )
    return { exitCode, out: out + stderrTail }
  }
  const addressesOf = async (instanceId: string) => {
    const { NetworkSettings } = await engine.getContainer(`berth-${instanceId}`).inspect()
    return Object.values(NetworkSettings.Networks).map(({ IPAddress, Gateway }) => ({ ip: IPAddress, gateway: Gateway }))
  }

  beforeAll(async () => {
    engine = openEngine(partOf('docker'))
    listener = createServer((request, response) => {
      hits.push(request.url ?? '')
      if (request.url === '/away') response.writeHead(302, { location: `http://127.0.0.2:${port}/secret` })
      response.end('of-the-machine-itself')
    })
    await new Promise<void>((resolve) => listener.listen(0, '0.0.0.0', resolve))
    port = (listener.address() as AddressInfo).port
    const [homeFolder, cloudFolder] = [await folder(), await folder()]
    const common = { socketPath: partOf('docker'), imageMirror: null }
    // 127.0.0.3 stands for the internet. All other addresses count as internal.
    const download = createDownload({
      resolve: async () => ['127.0.0.3'],
      classify: (address) => (address === '127.0.0.3' ? 'public' : 'inside'),
    })
    const egressFilter = { shell, openPorts: [] }
    home = createDockerRuntime({ ...common, folder: homeFolder, download, egressFilter: { ...egressFilter, isStrict: false } })
    openCloud = () =>
      createDockerRuntime({
        ...common,
        folder: cloudFolder,
        registries: publicRegistries,
        egressFilter: { ...egressFilter, isStrict: true },
      })
    cloud = openCloud()
    instance = { home: readIdentity(homeFolder).instance, cloud: readIdentity(cloudFolder).instance }
  })
  beforeEach(() => {
    hits = []
  })
  afterAll(async () => {
    for (const one of [home, cloud]) await one.close()
    for (const id of Object.values(instance)) await removeEverythingOf(id, partOf('docker'))
    await new Promise((resolve) => listener.close(resolve))
    for (const path of folders) await rm(path, { recursive: true, force: true })
  })

  describe("another project's image", () => {
    let victim: Artifact
    let victimId: string
    beforeAll(async () => {
      victim = await build('victim', `FROM ${partOf('busyboxImage')}\nRUN echo ${seed}-secret > /secret\n`)
      victimId = (await engine.getImage(victim.reference).inspect()).Id
    })
    const ways = () => {
      const hex = victimId.replace('sha256:', '')
      return [victim.reference, `docker.io/${victim.reference}`, victimId, hex, hex.slice(0, 12), hex.slice(0, 7)]
    }

    test('cannot be used by name, id or short id in FROM, COPY --from, a mount, image: or buildImage', async () => {
      const base = partOf('busyboxImage')
      for (const name of ways()) {
        const texts = [
          `FROM ${name}\nRUN cat /secret\n`,
          `ARG A=${name}\nFROM \${A}\nRUN cat /secret\n`,
          `FROM \\\n ${name}\nRUN cat /secret\n`,
          `FROM ${base}\nCOPY --from=${name} /secret /secret\nRUN cat /secret\n`,
          `FROM ${base}\nRUN --mount=type=bind,from=${name},target=/v cat /v/secret\n`,
          `FROM ${base} AS a\nONBUILD COPY --from=${name} /secret /secret\nFROM a\nRUN cat /secret\n`,
        ]
        for (const text of texts) {
          await expect(build('thief', text), `${name}: ${text}`).rejects.toThrow()
          expect(lines.join('\n')).not.toContain(`${seed}-secret`)
        }
        await expect(start('thief', image(name)), name).rejects.toThrow()
        const changes = { kind: 'stack', language: 'javascript', buildImage: name, startCommand: 'cat /secret' } as const
        await expect(build('thief', '', { changes }), name).rejects.toThrow()
      }
    })

    test('can still be used and run by its own project', async () => {
      await build('victim', `FROM ${victim.reference}\nRUN cat /secret\n`)
      expect(lines.join('\n')).toContain(`${seed}-secret`)
      const { instanceId } = await start('victim', victim)
      expect((await inside(instanceId, ['cat', '/secret'])).out).toContain(`${seed}-secret`)
      await home.stop(instanceId, { graceSeconds: 0 }, neverAborted)
    })
  })

  test('container settings of a service are applied and add no privilege', async () => {
    const container = {
      user: '1234:1234',
      workingDir: '/srv',
      hostname: 'front',
      readOnly: true,
      shmMb: 4_096,
      tmpfs: [{ target: '/scratch', sizeMb: 8 }],
      extraHosts: [{ name: 'db.internal', address: '10.9.8.7' }],
      ulimits: [{ name: 'nofile' as const, soft: 300, hard: 400 }],
      sysctls: { 'net.core.somaxconn': '77' },
      capDrop: ['CHOWN'],
      stopGraceSeconds: 3,
    }
    const { instanceId } = await start('own', busybox(), { container })
    const says = async (...words: string[]) => (await inside(instanceId, words)).out.trim()
    expect(await says('id', '-u')).toBe('1234')
    expect(await says('pwd')).toBe('/srv')
    expect(await says('hostname')).toBe('front')
    expect(await says('sh', '-c', 'touch /here 2>&1; touch /scratch/here && echo kept')).toMatch(/Read-only file system\nkept/)
    // The runtime sometimes raises the soft limit to the hard one and resets it too late, so only the hard limit is checked.
    expect(await says('sh', '-c', 'ulimit -Hn; cat /proc/sys/net/core/somaxconn; grep db.internal /etc/hosts')).toBe(
      '400\n77\n10.9.8.7\tdb.internal',
    )
    const { HostConfig, Config } = await engine.getContainer(`berth-${instanceId}`).inspect()
    expect(HostConfig).toMatchObject({
      // The value of the file. Pages of shared memory count towards the container's memory limit.
      ShmSize: 4_096 * 1024 * 1024,
      Memory: resources.memoryMb * 1024 * 1024,
      Ulimits: [{ Name: 'nofile', Soft: 300, Hard: 400 }],
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
    })
    expect(HostConfig.CapAdd).not.toContain('CAP_CHOWN')
    expect(HostConfig.CapAdd).not.toContain('CHOWN')
    expect(Config).toMatchObject({ StopTimeout: 3 })
    await home.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  })

  describe('ADD from the network of the machine is refused', () => {
    test.each([
      'ADD http://127.0.0.1:PORT/secret /x',
      'ADD http://localhost:PORT/secret /x',
      'ADD ["http://0.0.0.0:PORT/secret", "/x"]',
      'ADD h\\ttp://127.0.0.1:PORT/secret /x',
      'ARG U=http://127.0.0.1:PORT\nADD $U/secret /x',
      'ADD http://169.254.169.254/latest/meta-data/iam /x',
    ])('%s', async (line) => {
      const text = `FROM ${partOf('busyboxImage')}\n${line.replace('PORT', String(port))}\nRUN cat /x\n`
      await expect(build('thief', text)).rejects.toThrow(/private or reserved network/)
      await expect(build('thief', `${text}RUN --mount=type=cache,target=/c true\n`)).rejects.toThrow(
        /private or reserved network/,
      )
      expect(hits).toEqual([])
    })

    test('a redirect of a public address to an internal one is not followed', async () => {
      const text = (path: string) =>
        `FROM ${partOf('busyboxImage')}\nADD http://files.example:${port}/${path} /got\nRUN cat /got && ls -l /got\n`
      await expect(build('thief', text('away'))).rejects.toThrow(/private or reserved network/)
      expect(hits).toEqual(['/away'])
      await build('honest', text('file'))
      expect(lines.join('\n')).toMatch(/of-the-machine-itself/)
      expect(lines.join('\n')).toMatch(/-rw-------/)
    })

    test('an internal registry is not contacted on an instance with untrusted users', async () => {
      const registry = `127.0.0.1:${port}/x`
      await expect(build('thief', `FROM ${registry}\n`, { runtime: cloud })).rejects.toThrow(/is not allowed/)
      const copies = `FROM ${partOf('busyboxImage')}\nCOPY --from=${registry} / /\n`
      await expect(build('thief', copies, { runtime: cloud })).rejects.toThrow(/is not allowed/)
      await expect(start('thief', image(registry), {}, cloud)).rejects.toThrow(/is not allowed/)
      expect(hits).toEqual([])
    })
  })

  describe('symlinks in the source', () => {
    test.each(['.dockerignore', 'Dockerfile', 'Dockerfile.dockerignore'])(
      '%s as a symlink to a device or outside the project is refused',
      async (name) => {
        for (const target of ['/dev/zero', '/proc/self/environ', '/etc/passwd', '../../../../etc/hosts']) {
          const source = await folder({ ...(name === 'Dockerfile' ? {} : { Dockerfile: `FROM ${partOf('busyboxImage')}\n` }) })
          await symlink(target, join(source, name))
          await expect(build('thief', '', { source })).rejects.toThrow(/Dockerfile does not exist|is not a file of the project/)
        }
      },
    )

    test('a symlink in the context is copied as a symlink, and a context outside the project is refused', async () => {
      const source = await folder({
        Dockerfile: `FROM ${partOf('busyboxImage')}\nCOPY . /app\nRUN ls -l /app; cat /app/shadow || true\n`,
      })
      await symlink('/etc/shadow', join(source, 'shadow'))
      await mkdir(join(source, 'sub'))
      await symlink('/etc', join(source, 'out'))
      await build('thief', '', { source })
      expect(lines.join('\n')).toMatch(/shadow -> \/etc\/shadow/)
      expect(lines.join('\n')).not.toMatch(/daemon:/)
      await expect(build('thief', '', { source, changes: { rootDirectory: 'out' } })).rejects.toThrow(
        /does not exist in the project/,
      )
    })
  })

  test('a build cache is not shared with another project', async () => {
    const text = (command: string) =>
      `FROM ${partOf('busyboxImage')}\nRUN --mount=type=cache,id=all,target=/cache ${command} # ${seed}\n`
    await build('victim', text(`echo ${seed}-cached > /cache/x`))
    await build('thief', text('cat /cache/x || echo nothing'))
    expect(lines.join('\n')).not.toContain(`${seed}-cached`)
  })

  test('no process of a build continues after it', async () => {
    const marks = { label: [`berth.instance=${instance.home}`, 'berth.kind=build'] }
    await build('thief', `FROM ${partOf('busyboxImage')}\nRUN (while :; do date >> /x; sleep 1; done) & true\n`)
    const rows = await engine.listContainers({ all: true, filters: { ancestor: [partOf('busyboxImage')] } })
    const running = await Promise.all(rows.map(({ Id }) => engine.getContainer(Id).inspect()))
    expect(running.filter(({ Config }) => Config.Cmd?.join().includes('date >> /x'))).toEqual([])
    expect(await engine.listContainers({ all: true, filters: marks })).toEqual([])
    await expect.poll(() => engine.listNetworks({ filters: marks })).toEqual([])
  })

  test.skipIf(!isRoot)(
    'a container that takes the port of a stopped container does not pass as it; the next start uses another port',
    async () => {
      const served = { command: ['sh', '-c', 'echo own > /tmp/index.html; exec httpd -f -p 8000 -h /tmp'], port: 8000 }
      const { instanceId, address } = await start('victim', busybox(), served)
      const isOwn = () => new Promise<boolean>((resolve) => checkListener(address!, address!.listener!, resolve))
      await expect.poll(isOwn).toBe(true)
      await engine.getContainer(`berth-${instanceId}`).kill()
      await expect.poll(isOwn).toBe(false)
      const program = `require('net').createServer().listen(${address!.port}, '127.0.0.1', () => console.log('taken'))`
      const thief = spawn(process.execPath, ['-e', program], {
        uid: 65_534,
        gid: 65_534,
        cwd: '/',
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      try {
        expect(String((await once(thief.stdout, 'data'))[0])).toContain('taken')
        // The edge makes this check before it sends anything.
        expect(await isOwn()).toBe(false)
        const again = await start('victim', busybox(), { ...served, instanceId })
        expect(again.address!.port).not.toBe(address!.port)
        const { host, port } = again.address!
        const answer = () =>
          fetch(`http://${host}:${port}/`).then(
            (response) => response.text(),
            () => 'nothing yet',
          )
        await expect.poll(answer).toBe('own\n')
      } finally {
        thief.kill('SIGKILL')
        await home.stop(instanceId, { graceSeconds: 0 }, neverAborted)
      }
    },
  )

  test('a container has no unneeded privilege and no access to the machine', async () => {
    const { instanceId } = await start('thief', busybox())
    const { HostConfig, Mounts, Config } = await engine.getContainer(`berth-${instanceId}`).inspect()
    expect(HostConfig).toMatchObject({
      Privileged: false,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      PidMode: '',
      IpcMode: 'private',
      UsernsMode: '',
      UTSMode: '',
      CgroupParent: '',
      Runtime: 'runc',
      Binds: null,
      VolumesFrom: null,
      ExtraHosts: null,
      Dns: null,
      PidsLimit: 1024,
      Memory: 256 * 1024 * 1024,
      MemorySwap: 256 * 1024 * 1024,
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
    })
    expect([HostConfig.Devices ?? [], HostConfig.DeviceRequests ?? [], Mounts]).toEqual([[], [], []])
    expect(HostConfig.CapAdd).not.toEqual(expect.arrayContaining(['NET_RAW']))
    expect(Config.Labels['berth.project']).toBe(`prj_${seed}thief`)
    const { out } = await inside(instanceId, [
      'sh',
      '-c',
      'grep -E "NoNewPrivs|CapBnd" /proc/self/status; ls /var/run/docker.sock /run/docker.sock',
    ])
    expect(out).toMatch(/NoNewPrivs:\s*1/)
    // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE: neither NET_RAW nor MKNOD nor SYS_CHROOT.
    expect(out).toMatch(/CapBnd:\s*00000000000004fb/)
    expect(out).not.toMatch(/^\/.*docker\.sock$/m)
    await home.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  })

  describe.skipIf('reason' in lookUp('dockerIsolation'))('networks', () => {
    test('no container reaches one of another project by address, on any bridge', async () => {
      const served = { command: ['sh', '-c', 'echo victim > /tmp/index.html; exec httpd -f -p 8000 -h /tmp'] }
      const network = (project: string) => ({ network: { name: `net-${seed}${project}`, aliases: ['web'] } })
      const victims = [await start('v1', busybox(), served), await start('v2', busybox(), { ...served, ...network('v2') })]
      const thieves = [await start('t1', node()), await start('t2', node(), network('t2'))]
      const own = await start('v2', node(), network('v2'))
      const get = (ip: string) => ['node', '-e', requesting, ip, '8000']
      const second = (await addressesOf(victims[1]!.instanceId))[0]!.ip
      await expect.poll(async () => (await inside(own.instanceId, get(second))).out).toContain('victim')
      for (const victim of victims)
        for (const { ip } of await addressesOf(victim.instanceId))
          for (const thief of thieves) {
            expect(ip).toMatch(/^\d/)
            expect((await inside(thief.instanceId, get(ip))).out).not.toContain('victim')
          }
      const [{ ip: target } = { ip: '' }] = await addressesOf(victims[0]!.instanceId)
      const text = `FROM ${partOf('nodeImage')}\nRUN ${JSON.stringify([...get(target), seed])}\n`
      await build('thief', text)
      expect(lines.filter((line) => !line.startsWith('Step')).join('\n')).toMatch(/silent|EHOSTUNREACH|ENETUNREACH|ECONNREFUSED/)
      for (const { instanceId } of [...victims, ...thieves, own]) await home.stop(instanceId, { graceSeconds: 0 }, neverAborted)
    })
  })

  describe.skipIf(!isRoot || 'reason' in lookUp('dockerIsolation'))('the egress filter', () => {
    /** Result of a blocked request: refused, or no response while the engine creates a network for another test. */
    const refused = /ECONNREFUSED|silent/
    const iptables = async (...args: string[]) =>
      (await shell({ program: 'iptables', args: ['-w', '5', ...args] }, { timeoutMs: 10_000, maxOutputBytes: 1e6 })).stdout
    const get = (where: string) => ['node', '-e', requesting, ...where.split(':'), ...(where.includes(':') ? [] : ['80'])]

    const asks = (where: string, flags = '') =>
      `FROM ${partOf('nodeImage')}\nRUN ${flags}${JSON.stringify([...get(where), seed])}\n`

    test('refuses metadata addresses at once, in containers and in builds', async () => {
      expect((await home.check(neverAborted)).version).toMatch(/\d/)
      expect(home.egressFilter()).toMatchObject({ inForce: true })
      expect(home.isolation.message).toMatch(/its own containers\. Projects in Docker cannot reach metadata addresses$/)
      const { instanceId } = await start('thief', node())
      for (const address of ['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16'])
        expect((await inside(instanceId, get(address))).out, address).toMatch(refused)
      await expect.poll(async () => (await inside(instanceId, get('169.254.169.254'))).out).toMatch(/ECONNREFUSED/)
      await build('thief', asks('169.254.169.254'))
      expect(lines.filter((line) => !line.startsWith('Step')).join('\n')).toMatch(refused)
      // Without strict mode, access to the machine's own network is up to the operator.
      const [{ gateway } = { gateway: '' }] = await addressesOf(instanceId)
      expect((await inside(instanceId, get(`${gateway}:${port}`))).out).toContain('of-the-machine-itself')
      await home.stop(instanceId, { graceSeconds: 0 }, neverAborted)
    })

    test('refuses metadata addresses in BuildKit builds, and does not affect other containers on that bridge', async () => {
      const address = `169.254.77.${1 + ((randomBytes(1)[0] as number) % 250)}`
      const ip = (...args: string[]) => shell({ program: 'ip', args }, { timeoutMs: 10_000, maxOutputBytes: 10_000 })
      // Strict mode closes the engine's own bridge to all containers, and a strict instance restores its rules every minute.
      await cloud.close()
      await new EgressFilter({ instance: instance.cloud, shell, isStrict: true, openPorts: [] }).remove()
      await ip('addr', 'add', `${address}/32`, 'dev', 'lo')
      const foreign = await engine.createContainer({ Image: partOf('nodeImage'), Cmd: ['sleep', '300'] })
      const later = await engine.createContainer({ Image: partOf('nodeImage'), Cmd: ['sleep', '300'] })
      const outside = async (container: typeof foreign) => {
        const exec = await container.exec({ Cmd: get(`${address}:${port}`), AttachStdout: true })
        const stream = await exec.start({ Tty: false })
        let out = ''
        for await (const chunk of stream) out += String(chunk)
        return out
      }
      try {
        await foreign.start()
        const request = get(`${address}:${port}`).map((word) => `'${word}'`)
        const text = `FROM ${partOf('nodeImage')}\nRUN echo begun ${seed}; sleep 4; ${request.join(' ')}; echo asked\n`
        const going = build('thief', text)
        await expect.poll(() => lines).toContain(`begun ${seed}`)
        // Polled, since a strict instance of another test file closes the engine's bridge until it ends.
        await expect.poll(() => outside(foreign)).toContain('of-the-machine-itself')
        await later.start()
        await expect.poll(() => outside(later)).toContain('of-the-machine-itself')
        await going
        expect(lines).toContain('Building with BuildKit')
        expect(lines).toContain('asked')
        expect(lines.slice(lines.indexOf(`begun ${seed}`)).join('\n')).toMatch(refused)
        expect(lines).not.toContain('of-the-machine-itself')
        expect(await iptables('-S')).not.toMatch(`BERTH-${instance.home}-BK`)
      } finally {
        for (const container of [foreign, later]) await container.remove({ force: true })
        await ip('addr', 'del', `${address}/32`, 'dev', 'lo')
        cloud = openCloud()
      }
    })

    test('lets builds of untrusted users reach neither services nor networks of the machine; services of one project reach each other', async () => {
      const network = { network: { name: `fence-${seed}`, aliases: ['web'] } }
      const served = { command: ['sh', '-c', 'echo own > /tmp/index.html; exec httpd -f -p 8000 -h /tmp'], ...network }
      const web = await start('thief', busybox(), served, cloud)
      const { instanceId } = await start('thief', node(), network, cloud)
      expect(cloud.egressFilter()).toMatchObject({ inForce: true })
      const [{ gateway } = { gateway: '' }] = await addressesOf(instanceId)
      for (const where of [`${gateway}:${port}`, '10.255.0.1', '172.31.0.1', '192.168.250.1', '100.64.0.1', '169.254.169.254'])
        expect((await inside(instanceId, get(where), cloud)).out, where).toMatch(refused)
      expect(hits).toEqual([])
      await expect.poll(async () => (await inside(instanceId, get('web:8000'), cloud)).out).toContain('own')
      const kit = asks(`${gateway}:${port}`, '--mount=type=tmpfs,target=/t ')
      await build('thief', kit, { runtime: cloud })
      expect(hits).toEqual([])
      for (const one of [web.instanceId, instanceId]) await cloud.stop(one, { graceSeconds: 0 }, neverAborted)
    })

    test('applies while the default rules accept everything, as while the engine creates a network', async () => {
      const served = { command: ['sh', '-c', 'echo victim > /tmp/index.html; exec httpd -f -p 8000 -h /tmp'] }
      const network = (name: string) => ({ network: { name: `open-${seed}${name}`, aliases: ['web'] } })
      const victim = await start('victim', busybox(), { ...served, ...network('victim') }, cloud)
      const web = await start('thief', busybox(), { ...served, ...network('thief') }, cloud)
      const { instanceId } = await start('thief', node(), network('thief'), cloud)
      const [{ ip } = { ip: '' }] = await addressesOf(victim.instanceId)
      const away = '10.255.0.1'
      const passes = ['-i', `${bridgePrefix(instance.cloud)}+`, '-j', 'ACCEPT']
      // Packets that would leave the machine are counted and dropped.
      const counted = ['-t', 'mangle', '-m', 'comment', '--comment', seed, '-d', away, '-j', 'DROP']
      await iptables('-I', 'DOCKER-USER', '1', ...passes)
      await iptables('-A', 'POSTROUTING', ...counted)
      try {
        await expect.poll(async () => (await inside(instanceId, get('web:8000'), cloud)).out).toContain('victim')
        expect((await inside(instanceId, get(`${ip}:8000`), cloud)).out).toMatch(/silent/)
        expect((await inside(instanceId, get(away), cloud)).out).toMatch(/silent/)
        const [line] = (await iptables('-t', 'mangle', '-nvxL', 'POSTROUTING')).split('\n').filter((one) => one.includes(seed))
        expect(line?.trim()).toMatch(/^0 /)
      } finally {
        await iptables('-D', 'DOCKER-USER', ...passes)
        await iptables('-D', 'POSTROUTING', ...counted)
      }
      for (const one of [victim, web, { instanceId }]) await cloud.stop(one.instanceId, { graceSeconds: 0 }, neverAborted)
    })

    test('is installed again after a flush, covers only our bridges, and is removed completely', async () => {
      const rules = async () => (await iptables('-S')) + (await iptables('-t', 'security', '-S'))
      const own = (text: string) => text.split('\n').filter((line) => line.includes(`BERTH-${instance.home}`))
      const before = own(await rules())
      expect(before.filter((line) => / -j BERTH/.test(line))).toEqual([
        expect.stringContaining(`-A INPUT -i ${bridgePrefix(instance.home)}+`),
        expect.stringContaining(`-A DOCKER-USER -i ${bridgePrefix(instance.home)}+`),
        expect.stringContaining(`-A FORWARD -i ${bridgePrefix(instance.home)}+`),
      ])
      // Otherwise it would restore the rules.
      await home.close()
      await removeEverythingOf(instance.home, partOf('docker'))
      expect(own(await rules())).toEqual([])
      const again = createDockerRuntime({
        socketPath: partOf('docker'),
        folder: folders[0]!,
        imageMirror: null,
        egressFilter: { shell, openPorts: [], isStrict: false },
      })
      // Only the timer of its periodic checks is faked.
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
      onTestFinished(() => void vi.useRealTimers())
      await again.check(neverAborted)
      await again.check(neverAborted)
      expect(own(await rules())).toEqual(before)
      // No build or start triggers it meanwhile.
      await removeEverythingOf(instance.home, partOf('docker'))
      expect(own(await rules())).toEqual([])
      vi.advanceTimersByTime(60_000)
      await expect.poll(async () => own(await rules())).toEqual(before)
      await again.close()
    })
  })

  test('a failed installation is reported', async () => {
    const output: string[] = []
    const failing = createDockerRuntime({
      socketPath: partOf('docker'),
      folder: await folder(),
      imageMirror: null,
      egressFilter: {
        shell: () => Promise.reject(new Error('no such program')),
        openPorts: [],
        isStrict: true,
        onChange: ({ message }) => output.push(message),
      },
    })
    expect(failing.isolation.message).toContain('is not active yet')
    await failing.check(neverAborted)
    await failing.check(neverAborted)
    // The API reports it as well, not only the log.
    expect(failing.isolation.message).toMatch(/its own containers\. The egress filter is not active: .+ metadata addresses\./)
    expect(output).toEqual([failing.egressFilter()?.message])
    expect(failing.egressFilter()).toMatchObject({
      inForce: false,
      message: expect.stringMatching(/The egress filter is not active: .+/),
    })
    await failing.close()
  })
})
