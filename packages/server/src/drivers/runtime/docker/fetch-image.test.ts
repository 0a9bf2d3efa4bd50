import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startImageRegistry, type TestImageRegistry } from '../../../../../../tests/kit/image-registry.ts'
import { describeNeeding, partOf } from '../../../../../../tests/kit/machine.ts'
import { Secret } from '../../../platform/secrets/secret.ts'
import { createImageRegistry } from '../../registry/image-registry.ts'
import type { RegistryLogin } from '../../registry/registry-login.ts'
import { createWebRequest } from '../../web-request/web-request.ts'
import { emptyPlan } from '../build-plan.ts'
import type { Artifact, Runtime } from '../runtime.ts'
import { createDockerRuntime } from './docker-runtime.ts'
import { type Engine, openEngine } from './engine.ts'
import { readIdentity } from './identity.ts'
import { removeEverythingOf } from './remove-everything.ts'

const neverAborted = new AbortController().signal
const resources = { cpuCores: 1, memoryMb: 64, diskMb: 500 }

describeNeeding(['docker', 'busyboxImage', 'registry'], 'images of a registry that asks for a login', () => {
  let folder: string
  let engine: Engine
  let runtime: Runtime
  let registry: TestImageRegistry
  const seed = randomBytes(4).toString('hex')
  const lines: string[] = []
  const owner = (project: string) => ({
    projectId: `prj_${seed}${project}`,
    deploymentId: `dep_${seed}${project}`,
    environment: 'production',
  })
  const login = (password = registry.password): RegistryLogin => ({
    host: registry.host,
    username: registry.username,
    password: new Secret(password),
  })
  const fetchAs = (project: string, image: string, logins: RegistryLogin[], alwaysPull = true): Promise<Artifact> => {
    lines.length = 0
    const request = { owner: owner(project), image, alwaysPull, registryLogins: logins }
    return (runtime.fetchImage as NonNullable<Runtime['fetchImage']>)(request, ({ message }) => lines.push(message), neverAborted)
  }
  const follow = (stream: NodeJS.ReadableStream) =>
    new Promise<void>((resolve, reject) => engine.modem.followProgress(stream, (error) => (error ? reject(error) : resolve())))
  /** Pushes a version of busybox that prints its name, and removes the local image names. */
  const push = async (repository: string, tag: string, says: string) => {
    const name = `${registry.host}/${repository}:${tag}`
    const container = await engine.createContainer({ Image: partOf('busyboxImage'), Cmd: ['true'] })
    const changes = [`CMD ["sh", "-c", "echo ${says}; sleep 600"]`, 'EXPOSE 8081 9000/udp', 'HEALTHCHECK CMD true']
    await container.commit({ repo: `${registry.host}/${repository}`, tag, changes: changes.join('\n') })
    await container.remove()
    const { host: serveraddress, username, password } = registry
    await follow(await engine.getImage(name).push({ authconfig: { username, password, serveraddress } }))
    await engine.getImage(name).remove()
    return name
  }
  const run = async (artifact: Artifact, project: string, logins: RegistryLogin[] = []) => {
    const instanceId = `ins_${seed}${randomBytes(3).toString('hex')}`
    await runtime.start(
      {
        ...{ instanceId, owner: owner(project), service: '', artifact, command: null, entrypoint: null, env: {}, port: null },
        ...{ volumes: [], network: null, resources, restart: false, registryLogins: logins },
      },
      neverAborted,
    )
    let output: string | null = null
    for await (const { message } of runtime.logs(instanceId, null, neverAborted)) {
      output = message
      break
    }
    await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
    return output
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-docker-'))
    const socketPath = partOf('docker')
    engine = openEngine(socketPath)
    runtime = createDockerRuntime({ socketPath, folder, imageMirror: null })
    registry = await startImageRegistry(partOf('registry'))
  })
  afterAll(async () => {
    await runtime.close()
    await removeEverythingOf(readIdentity(folder).instance, partOf('docker'))
    const left = await engine.listImages()
    const names = left.flatMap(({ RepoTags, RepoDigests }) => [...(RepoTags ?? []), ...(RepoDigests ?? [])])
    // The last name takes the digest along.
    for (const name of names.filter((one) => one.startsWith(registry.host)))
      await engine
        .getImage(name)
        .remove()
        .catch(() => undefined)
    await registry[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('a tag is pulled as its current digest, with its ports; the previous digest still runs', async () => {
    const image = await push('team/moving', '1', 'first')
    const first = await fetchAs('moving', image, [login()])
    expect(first).toMatchObject({ reference: expect.stringMatching(/\/team\/moving@sha256:[0-9a-f]{64}$/), exposedPorts: [8081] })
    expect(first.sizeBytes).toBeGreaterThan(1000)
    // A tag would keep the image in the engine when its project is gone.
    await expect(engine.getImage(image).inspect()).rejects.toThrow()
    await push('team/moving', '1', 'second')
    const second = await fetchAs('moving', image, [login()])
    expect(second.reference).not.toBe(first.reference)
    expect(await run(second, 'moving')).toBe('second')
    expect(await run(first, 'moving')).toBe('first')
    // Removed from the engine, it is pulled by its digest once more, with the login.
    await runtime.removeArtifact(first, neverAborted)
    await expect(engine.getImage(first.reference).inspect()).rejects.toThrow()
    expect(await run(first, 'moving', [login()])).toBe('first')
  })

  test('an image pulled by one organisation cannot be run, built on or named by digest by another', async () => {
    const image = await push('team/private', '1', 'private')
    const { reference } = await fetchAs('theirs', image, [login()])
    for (const name of [image, reference])
      for (const alwaysPull of [true, false])
        for (const logins of [[], [login('a wrong password')], [{ ...login(), host: 'elsewhere.test' }]])
          await expect(fetchAs('ours', name, logins, alwaysPull), `${name} ${alwaysPull}`).rejects.toThrow(/is private, and/)
    const source = await mkdtemp(join(tmpdir(), 'berth-source-'))
    const build = async (text: string, project: string, registryLogins: RegistryLogin[]) => {
      await writeFile(join(source, 'Dockerfile'), text)
      const plan = { ...emptyPlan, kind: 'dockerfile' as const, dockerfilePath: 'Dockerfile' }
      const request = {
        owner: owner(project),
        service: '',
        sourceFolder: source,
        plan,
        secrets: {},
        resources,
        timeoutMs: 60_000,
      }
      return runtime.build({ ...request, registryLogins }, () => undefined, neverAborted)
    }
    const texts = [`FROM ${image}\n`, `FROM ${reference}\n`, `FROM ${partOf('busyboxImage')}\nCOPY --from=${image} /bin /b\n`]
    for (const text of texts) {
      await expect(build(text, 'ours', [])).rejects.toThrow(/is private, and/)
      expect((await build(text, 'theirs', [login()])).kind).toBe('image')
    }
    // Another control plane with the same folder knows it as well.
    const again = createDockerRuntime({ socketPath: partOf('docker'), folder, imageMirror: null })
    const request = { owner: owner('ours'), image, alwaysPull: false }
    await expect(again.fetchImage?.(request, () => undefined, neverAborted)).rejects.toThrow(/Add a login for/)
    await again.close()
    await rm(source, { recursive: true })
  })

  test('a public image needs no login, also if one was sent', async () => {
    const image = await push('public/page', '1', 'page')
    await fetchAs('theirs', image, [login()])
    expect((await fetchAs('ours', image, [], false)).reference).toBe(image)
    expect(await run(await fetchAs('ours', image, []), 'ours')).toBe('page')
  })

  test('without a login the error says what to add; passwords are in no line', async () => {
    const image = await push('team/closed', '1', 'closed')
    await expect(fetchAs('ours', image, [])).rejects.toThrow(/Add a login for 127\.0\.0\.1:\d+ to the organisation's registries/)
    const failure = await fetchAs('ours', image, [login('wrong-canary-password')]).catch((error: Error) => error)
    expect(String(failure)).toMatch(/could not be pulled/)
    await fetchAs('ours', image, [login()])
    expect(JSON.stringify([lines, String(failure)])).not.toMatch(/canary/)
  })

  test('registries that are not allowed are not contacted, with any login', async () => {
    const image = await push('public/outside', '1', 'outside')
    const strict = createDockerRuntime({ socketPath: partOf('docker'), folder, imageMirror: null, registries: ['ghcr.io'] })
    const before = registry.requests.length
    const request = { owner: owner('ours'), image, alwaysPull: true, registryLogins: [login()] }
    await expect(strict.fetchImage?.(request, () => undefined, neverAborted)).rejects.toThrow(/Allowed registries: ghcr.io/)
    expect(registry.requests.length).toBe(before)
    await strict.close()
  })

  test('the digest of a tag equals that of a pull, in at most three small requests', async () => {
    const image = await push('team/asked', '1', 'asked')
    const digests = createImageRegistry({ web: createWebRequest({ allowPrivate: true }), registries: null, imageMirror: null })
    registry.requests.length = 0
    const digest = await digests.digestOf(image, [login()], neverAborted)
    expect(registry.requests.map((line) => line.split('?')[0])).toEqual([
      'HEAD /v2/team/asked/manifests/1',
      'GET /token',
      'HEAD /v2/team/asked/manifests/1',
    ])
    expect((await fetchAs('theirs', image, [login()])).reference).toContain(digest)
    await expect(digests.digestOf(image, [], neverAborted)).rejects.toMatchObject({ reason: 'denied' })
    await expect(digests.digestOf(image, [login('wrong-canary')], neverAborted)).rejects.toMatchObject({ reason: 'denied' })
  })
})
