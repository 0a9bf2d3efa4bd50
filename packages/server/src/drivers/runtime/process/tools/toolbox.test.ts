import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type NpmRegistry, startNpmRegistry } from '../../../../../../../tests/kit/npm-registry.ts'
import { type BuildPlan, emptyPlan } from '../../build-plan.ts'
import type { Artifact, Runtime } from '../../runtime.ts'
import { createProcessRuntime } from '../process-runtime.ts'
import { openSandbox } from '../sandbox/open-sandbox.ts'
import type { IsolationKind } from '../sandbox/sandbox.ts'
import { systemProgram } from '../sandbox/system-programs.ts'

const resources = { cpuCores: 1, memoryMb: 512, diskMb: 512 }
const neverAborted = new AbortController().signal
const isRoot = process.getuid?.() === 0
const ways: { kind: IsolationKind; skip: boolean }[] = [
  { kind: 'bubblewrap', skip: systemProgram('bwrap') === null },
  { kind: 'own-users', skip: !isRoot },
  { kind: 'none', skip: isRoot },
]
const nodePackage = `node-${process.platform}-${process.arch}`
/** A program that always prints its version. */
const says = (version: string) => ({ files: { 'bin/node': `#!/bin/sh\necho ${version}\n` }, bin: { node: 'bin/node' } })
const pnpm = (version: string) => ({
  files: { 'bin/pnpm.cjs': `#!/bin/sh\necho pnpm ${version}\n` },
  bin: { pnpm: 'bin/pnpm.cjs' },
})

const best = ways.find(({ skip }) => !skip)?.kind

describe.each(ways)('requested tools, isolation $kind', ({ kind, skip }) => {
  // Fetching is slow, and the storage does not depend on the isolation.
  const testOnce = test.skipIf(kind !== best)
  let folder: string
  let registry: NpmRegistry
  let runtime: Runtime
  let output: string[]
  beforeEach(async (context) => {
    if (skip) context.skip()
    folder = await mkdtemp(join('/tmp', 'berth-tools-'))
    await mkdir(join(folder, 'source'))
    await writeFile(join(folder, 'source', 'package.json'), '{"private":true}')
    registry = await startNpmRegistry()
    output = []
    runtime = open()
  })
  afterEach(async () => {
    for (const { instanceId } of (await runtime?.list()) ?? []) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
    await runtime?.close()
    await registry?.[Symbol.asyncDispose]()
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  const location = () => join(folder, 'processes')
  const kept = async () => (await readdir(join(location(), 'tools')).catch(() => [])).sort()
  function open(toolsMb?: number): Runtime {
    const environment = { ...process.env, npm_config_registry: registry.url }
    const sandbox = openSandbox({ folder: location(), dataDir: location(), environment, kinds: [kind] })
    return createProcessRuntime({ folder: location(), environment, sandbox, ...(toolsMb === undefined ? {} : { toolsMb }) })
  }
  const owner = (name: string) => ({
    projectId: `prj_tools_${name}`,
    deploymentId: `dep_tools_${name}`,
    environment: 'production',
  })
  const build = (name: string, plan: Partial<BuildPlan>, abort = neverAborted): Promise<Artifact> =>
    runtime.build(
      {
        ...{ owner: owner(name), service: '', resources, secrets: {}, timeoutMs: 60_000 },
        sourceFolder: join(folder, 'source'),
        plan: { ...emptyPlan, language: 'javascript', port: 3000, ...plan },
      },
      ({ message }) => output.push(message),
      abort,
    )
  const node22 = { runtimeVersion: { node: '22' }, buildCommand: 'node --version' }

  test('are downloaded once for concurrent builds, and exist for the build and the built program', async () => {
    await registry.publish(nodePackage, '22.4.0', says('v22.4.0'))
    await registry.publish(nodePackage, '22.5.0', says('v22.5.0'))
    await registry.publish('pnpm', '9.1.0', pnpm('9.1.0'))
    const [artifact] = await Promise.all([
      build('one', {
        ...node22,
        packageManager: 'pnpm',
        runtimeVersion: { node: '22', pnpm: '9.1.0' },
        installCommand: 'pnpm install',
      }),
      build('two', node22),
    ])
    expect(output.filter((line) => line === 'v22.5.0')).toHaveLength(2)
    expect(output).toContain('pnpm 9.1.0')
    expect(await kept()).toEqual(['node-22.5.0', 'pnpm-9.1.0'])
    expect(registry.requested.filter((path) => path.endsWith('.tgz')).sort()).toEqual([
      `/${nodePackage}/-/22.5.0.tgz`,
      '/pnpm/-/9.1.0.tgz',
    ])
    // Neither this control plane nor the next one contacts the registry again.
    await registry[Symbol.asyncDispose]()
    await runtime.close()
    runtime = open()
    await build('three', node22)
    expect(output.filter((line) => line === 'v22.5.0')).toHaveLength(3)
    const run = {
      instanceId: 'ins_tools_run',
      owner: owner('one'),
      service: '',
      artifact,
      resources,
      entrypoint: null,
      env: {},
    }
    await runtime.start(
      { ...run, command: ['node', 'server.js'], port: null, volumes: [], network: null, restart: false },
      neverAborted,
    )
    const lines: string[] = []
    for await (const { message } of runtime.logs('ins_tools_run', null, AbortSignal.timeout(50_000))) lines.push(message)
    expect(lines).toEqual(['v22.5.0'])
  })

  testOnce(
    'that are not what the registry says are not used',
    async () => {
      await registry.publish(nodePackage, '22.5.0', {
        ...says('v22.5.0'),
        integrity: `sha512-${Buffer.alloc(64).toString('base64')}`,
      })
      await expect(build('one', node22)).rejects.toMatchObject({
        code: 'missing_tool',
        message: expect.stringMatching(/requires Node 22.*does not match its checksum/),
      })
      expect(await kept()).toEqual([])
    },
    120_000,
  )

  testOnce(
    'that cannot be had: what is near is used with a warning, else it is said',
    async () => {
      const { url } = registry
      await registry[Symbol.asyncDispose]()
      expect(url).toContain('127.0.0.1')
      const near = process.version.replace(/\.\d+$/, '.999')
      await build('near', { runtimeVersion: { node: near }, buildCommand: 'node --version' })
      expect(output).toContain(process.version)
      expect(output.join('\n')).toContain(`Warning: Node ${near} could not be fetched`)
      await expect(build('far', node22)).rejects.toMatchObject({
        code: 'missing_tool',
        message: expect.stringContaining('the npm registry is unreachable'),
      })
    },
    120_000,
  )

  testOnce(
    'that a registry never sends do not delay a caller that gives up',
    async () => {
      registry.hang()
      const abort = new AbortController()
      const given = build('one', node22, abort.signal)
      await expect.poll(() => registry.requested.length).toBeGreaterThan(0)
      abort.abort(new Error('cancelled'))
      await expect(given).rejects.toThrow('cancelled')
    },
    120_000,
  )

  testOnce(
    'that nothing uses any more make room for others; what is in use stays',
    async () => {
      await runtime.close()
      runtime = open(0)
      for (const version of ['20.0.0', '21.0.0', '22.0.0']) await registry.publish(nodePackage, version, says(`v${version}`))
      const wants = (version: string) => ({ runtimeVersion: { node: version }, buildCommand: 'node --version' })
      const first = await build('one', wants('20'))
      await runtime.removeArtifact(first, neverAborted)
      await build('two', wants('21'))
      expect(await kept()).toEqual(['node-21.0.0'])
      await expect(build('three', wants('22'))).rejects.toMatchObject({
        code: 'missing_tool',
        message: expect.stringContaining('0 MB'),
      })
      expect(await kept()).toEqual(['node-21.0.0'])
    },
    120_000,
  )

  testOnce(
    'that the machine does not have are called by their names',
    async () => {
      const missing = (command: string) => build('one', { buildCommand: command }).catch((error: Error) => error.message)
      const [program, name] = Object.entries({ dotnet: '.NET', zola: 'Zola', mix: 'Elixir' }).find(
        ([one]) => !systemProgram(one),
      )!
      const text = `This project needs ${name} (\`${program}\`), which is not installed on this machine. Install it, or use Docker`
      expect(await missing(`${program} build`)).toBe(text)
      expect(await missing(`${program} build && true`)).toBe(text)
      expect(await missing('no-such-tool-of-mine --all')).toContain('`no-such-tool-of-mine` is not installed')
    },
    120_000,
  )
})
