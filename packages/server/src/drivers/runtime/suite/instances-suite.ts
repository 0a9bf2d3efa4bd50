import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { checkListener } from '../../../platform/listener/listener-check.ts'
import type { Instance, InstanceAddress } from '../runtime.ts'
import { call, neverAborted, readAll, resources, type SuiteBench, until } from './suite-bench.ts'

/** Tests of starting, stopping, watching and running commands in instances. */
export function instancesSuite(suite: SuiteBench): void {
  const { owner, request, start, stop } = suite
  describe('instances', () => {
    test('a started instance answers at its address, is listed, and is not started twice', async () => {
      const wanted = request()
      const first = await suite.runtime.start(wanted, neverAborted)
      await until(async () => (await call(first, 'env')) !== '')
      const again = await suite.runtime.start(wanted, neverAborted)
      expect(again.address).toEqual(first.address)
      expect(again.startedAt).toBe(first.startedAt)
      expect(await suite.runtime.inspect(wanted.instanceId)).toMatchObject({ state: 'running', owner: owner(), restarts: 0 })
      expect((await suite.runtime.list()).filter(({ instanceId }) => instanceId === wanted.instanceId)).toHaveLength(1)
      await stop(wanted.instanceId)
      await stop(wanted.instanceId)
      expect(await suite.runtime.inspect(wanted.instanceId)).toBeUndefined()
      await expect(call(first, 'env')).rejects.toThrow()
    })

    test('two instances of one artifact run side by side', async () => {
      const [one, other] = [await start(), await start()]
      expect(one.address).not.toEqual(other.address)
      await stop(one.instanceId)
      expect(await call(other, 'env')).not.toBe('')
      await stop(other.instanceId)
    })

    test('the usage of a running instance includes its CPU time and memory', async () => {
      const one = await start()
      const own = async () => (await suite.runtime.usage(neverAborted)).find(({ instanceId }) => instanceId === one.instanceId)
      const before = await own()
      expect(before).toMatchObject({ owner: owner(), cpuSeconds: expect.any(Number) })
      expect(before!.memoryBytes).toBeGreaterThan(5_000_000)
      expect(before!.memoryBytes).toBeLessThan(512 * 1024 * 1024)
      await until(async () => {
        await call(one, 'spin')
        return (await own())!.cpuSeconds >= before!.cpuSeconds + 0.1
      })
      await stop(one.instanceId)
      expect(await own()).toBeUndefined()
    })

    test('an artifact or volume in use is not removed', async () => {
      const one = await start()
      await suite.runtime.removeArtifact(suite.artifact, neverAborted)
      expect((await suite.runtime.listArtifacts()).map(({ reference }) => reference)).toContain(suite.artifact.reference)
      await stop(one.instanceId)
    })

    test('variables are passed byte for byte', async () => {
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

    test('a stop ends at its time limit if the program ignores its signal', async () => {
      const { instanceId } = await suite.runtime.start(
        request({ command: ['node', 'program.cjs', 'deaf'], port: null }),
        neverAborted,
      )
      await until(async () => (await readAll(suite.runtime, instanceId, null, 1)).length > 0)
      // The program ignores SIGTERM: a stop without a limit would never resolve.
      await stop(instanceId, 1)
      expect(await suite.runtime.inspect(instanceId)).toBeUndefined()
    })

    test('an instance that exits is reported with its exit code and stays exited', async () => {
      const reported = Promise.withResolvers<{ reason: string; lastEnd: Instance['lastEnd'] }>()
      const wanted = request({ command: ['node', 'program.cjs', 'exit', '7'], port: null })
      const unlisten = suite.runtime.onChange(({ instance, kind, reason }) => {
        if (instance.instanceId === wanted.instanceId && kind === 'exited')
          reported.resolve({ reason, lastEnd: instance.lastEnd })
      })
      await suite.runtime.start(wanted, neverAborted)
      await suite.runtime.inspectCached(wanted.instanceId)
      const end = { exitCode: 7, reason: 'exit', at: expect.any(String) }
      expect(await reported.promise).toEqual({ reason: expect.stringContaining('7'), lastEnd: end })
      expect(await suite.runtime.inspect(wanted.instanceId)).toMatchObject({ state: 'exited', exitCode: 7, lastEnd: end })
      await until(async () => (await suite.runtime.inspectCached(wanted.instanceId))?.state === 'exited')
      unlisten()
      await stop(wanted.instanceId)
    })

    test('a restarted instance is counted and reported, and another process on its port is not accepted', async () => {
      const reported = Promise.withResolvers<void>()
      const one = await start({ restart: true })
      const unlisten = suite.runtime.onChange(({ instance, kind }) => {
        if (instance.instanceId === one.instanceId && kind === 'restarted') reported.resolve()
      })
      await pause(500)
      await call(one, 'exit', '3')
      await reported.promise
      let back: Instance | undefined
      await until(async () => {
        back = await suite.runtime.inspect(one.instanceId)
        return back?.state === 'running' && (await call(back, 'env')) !== ''
      })
      expect(back).toMatchObject({ state: 'running', restarts: 1 })
      // Any process may bind a free port, so the process runtime gives the restarted instance another port.
      if (suite.runtime.kind === 'process') expect(back?.address?.port).not.toBe(one.address?.port)
      const { listener, ...address } = (back as Instance).address as InstanceAddress
      // An engine in another network namespace has listeners that this one cannot see.
      if (!listener) {
        unlisten()
        return await stop(one.instanceId)
      }
      expect(await new Promise((notify) => checkListener(address, listener, notify))).toBe(true)
      const outsider = createServer()
      await new Promise<void>((resolve) => outsider.listen(0, '127.0.0.1', resolve))
      const elsewhere = { ...address, port: (outsider.address() as { port: number }).port }
      const isTaken = new Promise((notify) => checkListener(elsewhere, listener, notify))
      if (suite.runtime.kind === 'process' || process.getuid?.() !== 0) expect(await isTaken).toBe(false)
      outsider.close()
      unlisten()
      await stop(one.instanceId)
    })

    test('an instance over its memory limit is ended with that reason', async (context) => {
      if (suite.noLimits) context.skip(suite.noLimits)
      const { instanceId } = await suite.runtime.start(
        request({ command: ['node', 'program.cjs', 'eat'], port: null, resources: { ...resources, memoryMb: 96 } }),
        neverAborted,
      )
      await until(async () => (await suite.runtime.inspect(instanceId))?.state === 'exited')
      await until(async () => (await suite.runtime.inspect(instanceId))?.outOfMemory === true)
      await stop(instanceId)
    })

    test('exec passes input, output and exit code of a program', async () => {
      const one = await start()
      const chunks: Uint8Array[] = []
      const given = randomBytes(300_000)
      const result = await suite.runtime.exec(
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
        neverAborted,
      )
      expect(result.exitCode).toBe(5)
      expect(result.stderrTail).toContain(`it's "so"`)
      expect(Buffer.concat(chunks).equals(given)).toBe(true)
      await stop(one.instanceId)
    })

    /** Processes of this machine, in any namespace, that have this argument. */
    const startedWith = (word: string) =>
      readdirSync('/proc').filter((name) => {
        try {
          return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').split('\0').includes(word)
        } catch {
          return false
        }
      })
    const waiting = (word: string) => ['node', '-e', 'console.error("up"); setInterval(() => {}, 1000)', word]

    test('exec starts in the folder of the project, and ends on abort', async () => {
      const one = await start()
      const word = suite.newId('exec')
      const gone = new AbortController()
      const up = Promise.withResolvers<void>()
      const command = { argv: waiting(word), onStderr: () => up.resolve() }
      const ended = suite.runtime.exec(one.instanceId, command, gone.signal).catch((error: Error) => error)
      await up.promise
      expect(startedWith(word)).not.toEqual([])
      gone.abort(new Error('the caller gave up'))
      expect(await ended).toBeInstanceOf(Error)
      await until(async () => startedWith(word).length === 0)
      const { exitCode } = await suite.runtime.exec(
        one.instanceId,
        { argv: ['node', '-e', 'fs.accessSync("program.cjs")'] },
        neverAborted,
      )
      expect(exitCode).toBe(0)
      await stop(one.instanceId)
    })

    test('exec ends with its instance', async () => {
      const one = await start()
      const word = suite.newId('exec')
      const up = Promise.withResolvers<void>()
      const command = { argv: waiting(word), onStderr: () => up.resolve() }
      const ended = suite.runtime.exec(one.instanceId, command, neverAborted).catch((error: Error) => error)
      await up.promise
      await stop(one.instanceId)
      await ended
      await until(async () => startedWith(word).length === 0)
    })

    test('exec ends without waiting for input if the program reads none', async () => {
      const one = await start()
      const silent = (async function* () {
        await new Promise(() => {})
        yield new Uint8Array()
      })()
      expect(await suite.runtime.exec(one.instanceId, { argv: ['node', '-e', ''], stdin: silent }, neverAborted)).toMatchObject({
        exitCode: 0,
      })
      await stop(one.instanceId)
    })
  })
}
