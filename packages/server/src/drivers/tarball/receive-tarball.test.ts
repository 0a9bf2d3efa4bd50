import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRunCommand } from '../shell/run-command.ts'
import { receiveTarball } from './receive-tarball.ts'
import { TooLarge } from './tarball-errors.ts'

let base: string
let target: string
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'berth-receive-'))
  target = join(base, 'sessions', 'one.tar.gz')
})
afterEach(() => rm(base, { recursive: true, force: true }))

async function* chunks(...parts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part)
}

const left = () => readdir(join(base, 'sessions'))

test('the upload is stored unchanged, readable by its owner only', async () => {
  const received = await receiveTarball(chunks('one', '', 'two'), target, { maxBytes: 6 })
  expect(received).toEqual({ sizeBytes: 6, sha256: createHash('sha256').update('onetwo').digest('hex') })
  expect(await readFile(target, 'utf8')).toBe('onetwo')
  expect((await stat(target)).mode & 0o777).toBe(0o600)
  expect(await left()).toEqual(['one.tar.gz'])
})

test('one byte over the limit is refused, leaves no file and stops reading', async () => {
  let requested = 0
  async function* endless() {
    for (;;) {
      requested += 1
      yield Buffer.alloc(1000)
    }
  }
  await expect(receiveTarball(endless(), target, { maxBytes: 2999 })).rejects.toBeInstanceOf(TooLarge)
  expect(requested).toBe(3)
  expect(await left()).toEqual([])
})

test('a failing source and an abort leave no file', async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('x')
    throw new Error('connection lost')
  }
  await expect(receiveTarball(broken(), target, { maxBytes: 100 })).rejects.toThrow('connection lost')
  expect(await left()).toEqual([])

  const stop = new AbortController()
  async function* silent(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('x')
    setImmediate(() => stop.abort(new Error('cancelled')))
    await new Promise(() => {})
  }
  await expect(receiveTarball(silent(), target, { maxBytes: 100, abort: stop.signal })).rejects.toThrow('cancelled')
  expect(await left()).toEqual([])
})

test('a failed second attempt keeps the first file, and a partial file of a killed process is overwritten', async () => {
  await receiveTarball(chunks('first'), target, { maxBytes: 10 })
  await writeFile(`${target}.partial`, 'left by a killed process')
  await expect(receiveTarball(chunks('far too long'), target, { maxBytes: 10 })).rejects.toBeInstanceOf(TooLarge)
  expect(await readFile(target, 'utf8')).toBe('first')
  await receiveTarball(chunks('second'), target, { maxBytes: 10 })
  expect(await readFile(target, 'utf8')).toBe('second')
  expect(await left()).toEqual(['one.tar.gz'])
})

test('299 MB use less than 40 MB of memory to receive and inspect; 301 MB are refused and leave no file', async () => {
  const program = `
    import { readFile } from 'node:fs/promises'
    import { crc32 } from 'node:zlib'
    import { receiveTarball } from ${JSON.stringify(fileURLToPath(new URL('./receive-tarball.ts', import.meta.url)))}
    import { inspectTarball } from ${JSON.stringify(fileURLToPath(new URL('./unpack-tarball.ts', import.meta.url)))}
    import { tarEnd, tarEntry } from ${JSON.stringify(fileURLToPath(new URL('./hostile-corpus.ts', import.meta.url)))}
    const [target] = process.argv.slice(-1)
    const maxBytes = 300_000_000
    // Stored, not compressed: the size on the wire is the size of the content, and packing it takes no memory of its own.
    async function* upload(bytes) {
      let [sum, size] = [0, 0]
      yield Buffer.from([31, 139, 8, 0, 0, 0, 0, 0, 0, 255])
      for await (const chunk of tar(bytes)) {
        ;[sum, size] = [crc32(chunk, sum), size + chunk.length]
        yield chunk.length === piece.length ? storedPiece : stored(chunk)
      }
      const end = Buffer.alloc(13)
      end[0] = 1
      end.writeUInt16LE(65535, 3)
      end.writeUInt32LE(sum, 5)
      end.writeUInt32LE(size, 9)
      yield end
    }
    const sixteen = (value) => Buffer.from([value & 255, value >> 8])
    // Reuses one buffer, so that garbage of the sender is not counted as memory of the receiver.
    const piece = Buffer.alloc(60000, 7)
    const stored = (chunk) => Buffer.concat([Buffer.from([0]), sixteen(chunk.length), sixteen(~chunk.length & 65535), chunk])
    const storedPiece = stored(piece)
    async function* tar(bytes) {
      yield tarEntry({ name: 'content', size: bytes })
      for (let left = bytes; left > 0; left -= 60000) yield piece.subarray(0, Math.min(left, 60000))
      yield Buffer.concat([Buffer.alloc((512 - bytes % 512) % 512), tarEnd])
    }
    await receiveTarball(upload(3_000_000), target, { maxBytes })
    await inspectTarball(target)
    const before = process.memoryUsage().rss
    const { sizeBytes } = await receiveTarball(upload(298_900_000), target, { maxBytes })
    await inspectTarball(target)
    // The peak of this process: that of resourceUsage() also includes its parent process.
    const [, highestKb] = /^VmHWM:\\s+(\\d+) kB$/m.exec(await readFile('/proc/self/status', 'utf8'))
    const extra = highestKb * 1024 - before
    const refusal = await receiveTarball(tar(301_000_000), target + '.more', { maxBytes }).catch((error) => error.name)
    console.log(JSON.stringify({ sizeBytes, extra, refusal }))`
  const run = createRunCommand(process.env)
  // With concurrent threads the garbage collector frees memory late on a busy machine.
  const args = ['--single-threaded-gc', '--input-type=module', '--eval', program, '--', target]
  const { stdout } = await run({ program: process.execPath, args }, { timeoutMs: 170_000, maxOutputBytes: 10_000 })
  const { sizeBytes, extra, refusal } = JSON.parse(stdout)
  expect(sizeBytes).toBeGreaterThan(298_900_000)
  expect(sizeBytes).toBeLessThan(299_100_000)
  expect(extra).toBeLessThan(40_000_000)
  expect(refusal).toBe('TooLarge')
  expect(await left()).toEqual(['one.tar.gz'])
}, 180_000)
