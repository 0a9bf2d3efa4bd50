import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { extract, pack } from 'tar-stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkListener } from '../../platform/listener/listener-check.ts'
import type { ListenerOwner } from '../../platform/listener/listener-owner.ts'
import {
  type Artifact,
  BuildFailed,
  type BuildPlan,
  emptyPlan,
  type Instance,
  type InstanceAddress,
  type OutputLine,
  type Runtime,
  type StartRequest,
} from './runtime.ts'
import { programText } from './suite-program.ts'

/** An implementation under test. */
export interface Bench {
  /** A runtime on the same state each time it is called, as after a restart of the control plane. */
  open(): Runtime
  /** Everything that the suite made through it is gone afterwards. */
  cleanUp(): Promise<void>
  /** Null where this machine holds instances to their limits; else why it cannot. */
  noLimits: string | null
}

const never = new AbortController().signal
const allotment = { cpuCores: 1, memoryMb: 512, diskMb: 2000 }
const waitMs = 20_000

/** What the comments of `Runtime` promise, on any implementation of it. */
export function runtimeSuite(prepare: () => Promise<Bench>): void {
  let bench: Bench
  let runtime: Runtime
  let source: string
  let artifact: Artifact
  const seed = randomBytes(5).toString('hex')
  const projectId = `prj_${seed}`
  const owner = (deployment = 'first') => ({ projectId, deploymentId: `dep_${seed}${deployment}`, environment: 'production' })
  let count = 0
  const newId = (prefix: string) => `${prefix}_${seed}${count++}`

  const plan: BuildPlan = {
    ...emptyPlan,
    language: 'javascript',
    packageManager: 'npm',
    startCommand: 'node program.cjs serve',
    port: 3000,
  }
  const lines: OutputLine[] = []
  const build = (
    deployment: string,
    changes: Partial<BuildPlan>,
    more: { timeoutMs?: number; secrets?: Record<string, string>; memoryMb?: number } = {},
  ) =>
    runtime.build(
      {
        owner: owner(deployment),
        service: '',
        sourceFolder: source,
        plan: { ...plan, ...changes },
        secrets: more.secrets ?? {},
        allotment: { ...allotment, memoryMb: more.memoryMb ?? allotment.memoryMb },
        timeoutMs: more.timeoutMs ?? 60_000,
      },
      (line) => lines.push(line),
      never,
    )
  const request = (changes: Partial<StartRequest> = {}): StartRequest => ({
    instanceId: newId('ins'),
    owner: owner(),
    service: '',
    artifact,
    command: null,
    entrypoint: null,
    env: {},
    port: 3000,
    volumes: [],
    network: null,
    allotment,
    restart: false,
    ...changes,
  })
  const start = async (changes: Partial<StartRequest> = {}) => {
    const instance = await runtime.start(request(changes), never)
    if (instance.address) await until(async () => (await call(instance, 'env')) !== '')
    return instance
  }
  const stop = (instanceId: string, graceSeconds = 3) => runtime.stop(instanceId, { graceSeconds }, never)

  beforeAll(async () => {
    bench = await prepare()
    runtime = bench.open()
    source = await mkdtemp(join(tmpdir(), 'berth-suite-'))
    await writeFile(join(source, 'program.cjs'), programText)
    await writeFile(join(source, 'package.json'), '{"name":"suite","private":true}')
    artifact = await build('first', {})
  }, 120_000)

  afterAll(async () => {
    await runtime?.close()
    await bench?.cleanUp()
    if (source) await rm(source, { recursive: true, force: true })
  }, 60_000)

  test('says which version it is', async () => {
    expect((await runtime.check(never)).version).toMatch(/\d/)
  })

  describe('build', () => {
    test('its commands find the variables, and their lines come out', async () => {
      lines.length = 0
      const value = `a "b" 'c' $d\n${seed}`
      await build(
        'vars',
        { buildCommand: `node -e "console.log(JSON.stringify(process.env.TOKEN))"` },
        { secrets: { TOKEN: value } },
      )
      expect(lines.map(({ message }) => message)).toContain(JSON.stringify(value))
    })

    test('a command that fails is named, with its exit code and its last lines', async () => {
      const failed = build('bad', { buildCommand: `node -e "console.error('no such page'); process.exit(4)"` })
      await expect(failed).rejects.toThrow('exit code 4')
      const error = await failed.catch((one: unknown) => one)
      expect(error).toBeInstanceOf(BuildFailed)
      expect(error).toMatchObject({ code: 'command_failed', logTail: expect.arrayContaining(['no such page']) })
    })

    test('one over its time is ended and says so', async () => {
      await expect(build('slow', { buildCommand: 'sleep 100' }, { timeoutMs: 1_500 })).rejects.toMatchObject({
        code: 'timed_out',
      })
    })

    test('one over its memory is ended and says so', async (context) => {
      if (bench.noLimits) context.skip(bench.noLimits)
      const eats = build('eats', { buildCommand: 'node program.cjs eat' }, { memoryMb: 96 })
      await expect(eats).rejects.toMatchObject({ code: 'out_of_memory', message: expect.stringContaining('96 MB') })
    })

    test('one that starts processes without end is ended and says so', async (context) => {
      if (bench.noLimits) context.skip(bench.noLimits)
      const forks = build('forks', { buildCommand: 'node program.cjs fork' }, { timeoutMs: 30_000, memoryMb: 1024 })
      await expect(forks).rejects.toMatchObject({ code: 'too_many_processes' })
    })

    test('an abort ends it', async () => {
      const abort = new AbortController()
      const going = runtime.build(
        {
          owner: owner('gone'),
          service: '',
          sourceFolder: source,
          plan: { ...plan, buildCommand: 'sleep 100' },
          secrets: {},
          allotment,
          timeoutMs: 60_000,
        },
        ({ message }) => message.includes('sleep') && setTimeout(() => abort.abort(), 200),
        abort.signal,
      )
      await expect(going).rejects.toThrow()
    })

    test('what was built is listed with its size, and removed once', async () => {
      const other = await build('second', {})
      expect(await runtime.listArtifacts()).toContainEqual(
        expect.objectContaining({ reference: other.reference, projectId, deploymentId: owner('second').deploymentId }),
      )
      expect(other.sizeBytes).toBeGreaterThan(0)
      await runtime.removeArtifact(other, never)
      await runtime.removeArtifact(other, never)
      expect((await runtime.listArtifacts()).map(({ reference }) => reference)).not.toContain(other.reference)
    })

    test('static: only the output folder counts', async () => {
      const made = await build('pages', {
        kind: 'static',
        buildCommand: `node -e "require('fs').mkdirSync('out');require('fs').writeFileSync('out/index.html','hi')"`,
        outputDirectory: 'out',
        startCommand: null,
      })
      expect(made.kind).toBe('static')
      expect(await readdir(made.reference)).toEqual(['index.html'])
    })
  })

  describe('instances', () => {
    test('one that was started answers at its address, is found, and starting it again is the same one', async () => {
      const wanted = request()
      const first = await runtime.start(wanted, never)
      await until(async () => (await call(first, 'env')) !== '')
      const again = await runtime.start(wanted, never)
      expect(again.address).toEqual(first.address)
      expect(again.startedAt).toBe(first.startedAt)
      expect(await runtime.inspect(wanted.instanceId)).toMatchObject({ state: 'running', owner: owner(), restarts: 0 })
      expect((await runtime.list()).filter(({ instanceId }) => instanceId === wanted.instanceId)).toHaveLength(1)
      await stop(wanted.instanceId)
      await stop(wanted.instanceId)
      expect(await runtime.inspect(wanted.instanceId)).toBeUndefined()
      await expect(call(first, 'env')).rejects.toThrow()
    })

    test('two of one artifact run beside each other', async () => {
      const [one, other] = [await start(), await start()]
      expect(one.address).not.toEqual(other.address)
      await stop(one.instanceId)
      expect(await call(other, 'env')).not.toBe('')
      await stop(other.instanceId)
    })

    test('what an instance uses is not removed', async () => {
      const one = await start()
      await runtime.removeArtifact(artifact, never)
      expect((await runtime.listArtifacts()).map(({ reference }) => reference)).toContain(artifact.reference)
      await stop(one.instanceId)
    })

    test('variables arrive byte for byte', async () => {
      const env = {
        QUOTES: `a'b"c`,
        DOLLAR: '$HOME $(id) `id`',
        LINES: 'one\ntwo\r\n',
        HASH: '# no comment',
        EMPTY: '',
        SPACE: '  a  ',
        WIDE: 'ü€😀',
        BACK: '\\n\\',
      }
      const one = await start({ env })
      const found = JSON.parse(await call(one, 'env'))
      expect(found).toMatchObject(env)
      expect(found.PORT).toMatch(/^\d+$/)
      await stop(one.instanceId)
    })

    test('a stop is bounded when the program does not listen', async () => {
      const { instanceId } = await runtime.start(request({ command: ['node', 'program.cjs', 'deaf'], port: null }), never)
      await until(async () => (await readAll(runtime, instanceId, null, 1)).length > 0)
      const began = performance.now()
      await stop(instanceId, 1)
      expect(performance.now() - began).toBeLessThan(15_000)
      expect(await runtime.inspect(instanceId)).toBeUndefined()
    })

    test('one that ends by itself is told with its exit code and stays exited', async () => {
      const told = Promise.withResolvers<string>()
      const wanted = request({ command: ['node', 'program.cjs', 'exit', '7'], port: null })
      const unlisten = runtime.onChange(({ instance, kind, reason }) => {
        if (instance.instanceId === wanted.instanceId && kind === 'exited') told.resolve(reason)
      })
      await runtime.start(wanted, never)
      expect(await told.promise).toContain('7')
      expect(await runtime.inspect(wanted.instanceId)).toMatchObject({ state: 'exited', exitCode: 7 })
      unlisten()
      await stop(wanted.instanceId)
    })

    test('one that is to be restarted comes back, counted and told, where nobody else is taken for it', async () => {
      const told = Promise.withResolvers<void>()
      const one = await start({ restart: true })
      const unlisten = runtime.onChange(({ instance, kind }) => {
        if (instance.instanceId === one.instanceId && kind === 'restarted') told.resolve()
      })
      await pause(500)
      await call(one, 'exit', '3')
      await told.promise
      let back: Instance | undefined
      await until(async () => {
        back = await runtime.inspect(one.instanceId)
        return back?.state === 'running' && (await call(back, 'env')) !== ''
      })
      expect(back).toMatchObject({ state: 'running', restarts: 1 })
      // Where whoever comes first gets the port, it is never the same one again.
      if (runtime.kind === 'process') expect(back?.address?.port).not.toBe(one.address?.port)
      const { listener, ...address } = (back as Instance).address as InstanceAddress
      expect(await new Promise((tell) => checkListener(address, listener as ListenerOwner, tell))).toBe(true)
      const stranger = createServer()
      await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
      const elsewhere = { ...address, port: (stranger.address() as { port: number }).port }
      const isTaken = new Promise((tell) => checkListener(elsewhere, listener as ListenerOwner, tell))
      if (runtime.kind === 'process' || process.getuid?.() !== 0) expect(await isTaken).toBe(false)
      stranger.close()
      unlisten()
      await stop(one.instanceId)
    })

    test('one over its memory is ended, and that is known', async (context) => {
      if (bench.noLimits) context.skip(bench.noLimits)
      const { instanceId } = await runtime.start(
        request({ command: ['node', 'program.cjs', 'eat'], port: null, allotment: { ...allotment, memoryMb: 96 } }),
        never,
      )
      await until(async () => (await runtime.inspect(instanceId))?.state === 'exited')
      await until(async () => (await runtime.inspect(instanceId))?.outOfMemory === true)
      await stop(instanceId)
    })

    test('a program run inside it takes input, gives output and an exit code', async () => {
      const one = await start()
      const chunks: Uint8Array[] = []
      const given = randomBytes(300_000)
      const result = await runtime.exec(
        one.instanceId,
        {
          argv: [
            'node',
            '-e',
            'process.stdin.pipe(process.stdout); process.stdin.on("end", () => { console.error(process.env.WORD); process.exitCode = 5 })',
          ],
          env: { WORD: `it's "so"` },
          stdin: (async function* () {
            for (let at = 0; at < given.length; at += 10_000) yield given.subarray(at, at + 10_000)
          })(),
          onStdout: (chunk) => void chunks.push(Buffer.from(chunk)),
        },
        never,
      )
      expect(result.exitCode).toBe(5)
      expect(result.stderrTail).toContain(`it's "so"`)
      expect(Buffer.concat(chunks).equals(given)).toBe(true)
      await stop(one.instanceId)
    })
  })

  describe('output', () => {
    test('is handed out from where the last reader stopped, no line twice and none lost, across a restart of the control plane', async () => {
      const one = await start()
      const words = (from: number) => Array.from({ length: 50 }, (_, at) => `line ${from + at}`)
      await call(one, 'say', words(0).join(','))
      const first = await readAll(runtime, one.instanceId, null, 31)
      await runtime.close()
      runtime = bench.open()
      const again = (await runtime.inspect(one.instanceId)) as Instance
      await call(again, 'say', words(50).join(','))
      const rest = await readAll(runtime, one.instanceId, first.at(-1)?.position ?? null, 70)
      const all = [...first, ...rest].map(({ message }) => message)
      expect(all).toEqual(['ready', ...words(0), ...words(50)])
      await stop(one.instanceId)
    })

    test('read without following, it ends with what was written so far, while the instance runs on', async () => {
      const one = await start()
      await call(one, 'say', 'one,two')
      // Every line is there before the reading begins.
      const said = await readAll(runtime, one.instanceId, null, 3)
      expect(said).toHaveLength(3)
      const lines: string[] = []
      for await (const { message } of runtime.logs(one.instanceId, null, never, { follow: false })) lines.push(message)
      expect(lines).toEqual(['ready', 'one', 'two'])
      expect(await runtime.inspect(one.instanceId)).toMatchObject({ state: 'running' })
      await stop(one.instanceId)
    })

    test('both outputs are told apart, and the last words before a stop are read', async () => {
      const one = await start()
      await call(one, 'complain', 'oh no')
      const read = collect(runtime, one.instanceId)
      await pause(500)
      await stop(one.instanceId)
      const found = await read
      expect(found.map(({ stream, message }) => `${stream}: ${message}`)).toEqual(
        expect.arrayContaining(['stdout: ready', 'stderr: oh no', 'stdout: bye']),
      )
    })
  })

  describe('volumes', () => {
    test('bytes stay when the instance goes and another one comes', async () => {
      const volumes = [{ id: newId('vol'), name: 'my-data', mountPath: '/data', readOnly: false }]
      await runtime.createVolume({ id: volumes[0]!.id, projectId, name: 'my-data' })
      const one = await start({ volumes })
      expect(await call(one, 'write', 'kept')).toBe('written')
      await stop(one.instanceId)
      await runtime.createVolume({ id: volumes[0]!.id, projectId, name: 'my-data' })
      const other = await start({ volumes, owner: owner('later') })
      expect(await call(other, 'read')).toBe('kept')
      await stop(other.instanceId)
      expect(await runtime.volumeSizeBytes(volumes[0]!.id)).toBeGreaterThanOrEqual(4)
      await runtime.removeVolume(volumes[0]!.id)
      await runtime.removeVolume(volumes[0]!.id)
      expect(await runtime.volumeSizeBytes(volumes[0]!.id)).toBeNull()
    })

    test('its content is read as a tar and replaced by one; a replacement cut short leaves the old one', async () => {
      const id = newId('vol')
      const volumes = [{ id, name: 'my-data', mountPath: '/data', readOnly: false }]
      await runtime.createVolume({ id, projectId, name: 'my-data' })
      const one = await start({ volumes })
      await call(one, 'write', 'old')
      await stop(one.instanceId)
      expect(await filesIn(runtime.readVolume(id, never))).toEqual({ file: 'old' })

      async function* broken() {
        yield (await tarWith({ file: 'half' })).subarray(0, 514)
        throw new Error('the line was cut')
      }
      await expect(runtime.writeVolume(id, broken(), never)).rejects.toThrow()
      expect(await filesIn(runtime.readVolume(id, never))).toEqual({ file: 'old' })

      await runtime.writeVolume(id, once(await tarWith({ file: 'new', 'deep/other': 'x' })), never)
      expect(await filesIn(runtime.readVolume(id, never))).toEqual({ file: 'new', 'deep/other': 'x' })
      const other = await start({ volumes })
      expect(await call(other, 'read')).toBe('new')
      await stop(other.instanceId)
      await runtime.removeVolume(id)
    })
  })
}

async function call({ address }: Instance, what: string, q = ''): Promise<string> {
  const answer = await fetch(`http://${address?.host}:${address?.port}/${what}?q=${encodeURIComponent(q)}`, {
    headers: { connection: 'close' },
    signal: AbortSignal.timeout(5_000),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + waitMs
  let last: unknown = 'it never held'
  while (performance.now() < deadline) {
    try {
      if (await holds()) return
    } catch (error) {
      last = error
    }
    await pause(100)
  }
  throw last instanceof Error ? last : new Error(String(last))
}

/** The first `count` lines after a position. */
async function readAll(runtime: Runtime, instanceId: string, after: string | null, count: number) {
  const abort = new AbortController()
  const clock = setTimeout(() => abort.abort(), 5_000)
  const found: (OutputLine & { position: string })[] = []
  for await (const line of runtime.logs(instanceId, after, abort.signal)) {
    found.push(line)
    if (found.length >= count) break
  }
  clearTimeout(clock)
  abort.abort()
  return found
}

async function collect(runtime: Runtime, instanceId: string): Promise<OutputLine[]> {
  const found: OutputLine[] = []
  for await (const line of runtime.logs(instanceId, null, AbortSignal.timeout(waitMs))) found.push(line)
  return found
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function tarWith(files: Record<string, string>): Promise<Buffer> {
  const archive = pack()
  for (const [name, text] of Object.entries(files)) archive.entry({ name, uid: 1000, gid: 1000, mode: 0o644 }, text)
  archive.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of archive) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function filesIn(tar: AsyncIterable<Uint8Array>): Promise<Record<string, string>> {
  const reader = extract()
  const fed = (async () => {
    for await (const chunk of tar)
      if (!reader.write(chunk)) await new Promise<void>((resolve) => reader.once('drain', () => resolve()))
    reader.end(Buffer.alloc(0))
  })()
  const files: Record<string, string> = {}
  for await (const entry of reader) {
    const chunks: Buffer[] = []
    for await (const chunk of entry) chunks.push(chunk as Buffer)
    if (entry.header.type === 'file') files[entry.header.name] = Buffer.concat(chunks).toString('utf8')
  }
  await fed
  return files
}
