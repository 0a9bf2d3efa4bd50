import { execFile } from 'node:child_process'
import { cp, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { openEngine } from '../../packages/server/src/drivers/runtime/docker/engine.ts'
import { freePorts } from '../kit/free-port.ts'
import { getPage, ownerSettings } from '../kit/hosting.ts'
import { partOf } from '../kit/machine.ts'
import { describeOnDocker, dockerRemover, settingsFor } from '../kit/runtimes.ts'
import { tempFolder } from '../kit/temp-folder.ts'

const clone = join(import.meta.dirname, '..', '..')

describeOnDocker('the container image of Berth', () => {
  test('an image built from the package serves, and a project survives a restart of its container', async () => {
    const engine = openEngine(partOf('docker'))
    await promisify(execFile)(process.execPath, [join(clone, 'scripts', 'pack.mjs')], { cwd: clone })
    const { version } = JSON.parse(await readFile(join(clone, 'packages', 'server', 'package.json'), 'utf8'))
    await using folder = await tempFolder('image')
    // Disposed of before the folder, which knows the objects on the engine.
    await using onEngine = new AsyncDisposableStack()
    const context = join(folder.path, 'context')
    const files = ['Dockerfile', `dist/berth-${version}.tgz`]
    await mkdir(join(context, 'dist'), { recursive: true })
    for (const file of files) await cp(join(clone, file), join(context, file))
    const tag = `berth-image-test-${process.pid}`
    const options = { t: tag, buildargs: { NODE_IMAGE: partOf('nodeImage') }, networkmode: 'none' }
    const output = await text(await engine.buildImage({ context, src: files }, options))
    expect(output).toContain(`Successfully tagged ${tag}`)
    onEngine.defer(async () => void (await engine.getImage(tag).remove({ force: true })))

    const dataFolder = join(folder.path, 'data')
    await mkdir(dataFolder)
    const [port, edgePort] = (await freePorts(2)) as [number, number]
    const settings = {
      ...settingsFor('docker'),
      ...ownerSettings,
      BERTH_PORT: String(port),
      BERTH_EDGE_PORT: String(edgePort),
    }
    const container = await engine.createContainer({
      Image: tag,
      Env: Object.entries({ ...settings, BERTH_DOCKER_SOCKET: '/var/run/docker.sock' }).map(
        ([name, value]) => `${name}=${value}`,
      ),
      HostConfig: {
        NetworkMode: 'host',
        Binds: [`${dataFolder}:/data`, `${partOf('docker')}:/var/run/docker.sock`],
      },
    })
    onEngine.defer(async () => {
      const remove = dockerRemover(dataFolder)
      await container.remove({ force: true })
      await remove()
    })
    await container.start()
    const health = async () => (await container.inspect()).State.Health?.Status
    await expect.poll(health, { interval: 500 }).toBe('healthy')

    const inside = async (script: string) => {
      const exec = await container.exec({ Cmd: ['sh', '-ec', script], AttachStdout: true, AttachStderr: true, Tty: true })
      const printed = await text(await exec.start({ Tty: true }))
      expect((await exec.inspect()).ExitCode, printed).toBe(0)
      return printed
    }
    const { BERTH_ADMIN_EMAIL: email, BERTH_ADMIN_PASSWORD: password } = ownerSettings
    const url = `http://127.0.0.1:${port}`
    await inside(`echo '${password}' | berth login --url ${url} --email ${email} --password-stdin`)
    const server = "require('http').createServer((_, answer) => answer.end('boxed')).listen(process.env.PORT)"
    const manifest = '{"scripts":{"start":"node server.js"}}'
    await inside(`mkdir /tmp/app; cd /tmp/app; echo "${server}" > server.js; echo '${manifest}' > package.json`)
    expect(await inside('cd /tmp/app; berth deploy --name Boxed')).toContain(`http://boxed.localhost:${edgePort}`)
    const page = async () => (await getPage(`http://127.0.0.1:${edgePort}`, 'boxed.localhost', '/')).text
    expect(await page()).toBe('boxed')

    const { projectId } = JSON.parse(await inside('cat /tmp/app/.berth/project.json'))
    const instances = { filters: { label: ['berth.kind=instance', `berth.project=${projectId}`] } }
    const running = async () => (await engine.listContainers(instances)).map(({ Id }) => Id)
    const before = await running()
    expect(before).toHaveLength(1)
    await container.restart()
    await expect.poll(() => page().catch(() => ''), { interval: 500 }).toBe('boxed')
    expect(await running()).toEqual(before)
  })

  test('compose.yml starts that image with the Docker socket and a volume for the data', async () => {
    const { services, volumes } = parse(await readFile(join(clone, 'compose.yml'), 'utf8'))
    expect(services.berth).toMatchObject({ build: '.', network_mode: 'host', restart: 'unless-stopped' })
    const targets = services.berth.volumes.map((mount: string) => mount.split(':')[1])
    expect(targets).toEqual(['/data', '/var/run/docker.sock'])
    expect(Object.keys(volumes)).toEqual(['berth-data'])
  })
})
