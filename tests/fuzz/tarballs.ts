import { mkdir, mkdtemp, readdir, readlink, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { gzipSync } from 'node:zlib'
import { paxEntry, type TarEntry, tarEnd, tarEntry } from '../../packages/server/src/drivers/tarball/hostile-corpus.ts'
import { inspectTarball, unpackTarball } from '../../packages/server/src/drivers/tarball/unpack-tarball.ts'
import type { Random } from './random.ts'
import { type Fuzzed, fuzzByHand } from './runner.ts'

interface Archive {
  entries: TarEntry[]
  /** Bytes that are changed after the tar was made: where, and to what. */
  changes: [number, number][]
  cutAt?: number
  cutZipAt?: number
}

const names = [
  'a',
  'b',
  'a/b',
  'a/b/c',
  '../x',
  '/x',
  './a',
  'a/../b',
  'a//b',
  'A',
  '.',
  '',
  '._a',
  'a\\b',
  'é',
  'e\u0301',
  `${'n'.repeat(99)}`,
]
const targets = ['a', 'b', '..', '../..', 'a/b', '/etc', '.', 'b/../..', 'a/../../x', '']
const types = ['0', '0', '0', '5', '2', '2', '1', '3', '6', 'x', 'g', 'L', 'K', 'S', '7', '']

function make(random: Random): Archive {
  const entry = (): TarEntry => {
    if (random.chance(0.1))
      return paxEntry({
        [random.pick(['path', 'linkpath', 'size', 'GNU.sparse.map', 'x'])]: random.pick([
          ...names,
          ...targets,
          '-1',
          '9'.repeat(20),
        ]),
      })
    return {
      name: random.pick(names),
      type: random.pick(types),
      linkname: random.pick(targets),
      content: 'x'.repeat(random.below(random.chance(0.1) ? 5000 : 20)),
      mode: random.pick([0o644, 0o755, 0o4755, 0]),
      ...(random.chance(0.05) ? { size: random.below(100_000) } : {}),
    }
  }
  return {
    entries: [entry(), ...random.some(12, entry)],
    changes: random.chance(0.3) ? random.some(4, () => [random.below(4000), random.below(256)]) : [],
    ...(random.chance(0.1) ? { cutAt: random.below(3000) } : {}),
    ...(random.chance(0.05) ? { cutZipAt: random.below(200) } : {}),
  }
}

function bytesOf({ entries, changes, cutAt, cutZipAt }: Archive): Buffer {
  const tar = Buffer.concat([...entries.map(tarEntry), tarEnd])
  for (const [at, byte] of changes) if (at < tar.length) tar[at] = byte
  return gzipSync(tar.subarray(0, cutAt)).subarray(0, cutZipAt)
}

const isRefusal = (error: unknown) => error instanceof Error && (error.name === 'BadEntry' || error.name === 'BadArchive')

async function check(archive: Archive): Promise<void> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'berth-fuzz-tar-')))
  try {
    const [file, into] = [join(base, 'archive'), join(base, 'around/into')]
    await writeFile(file, bytesOf(archive))
    await mkdir(join(base, 'around'))
    const limits = { maxDecompressedBytes: 1_000_000, maxEntries: 100 }
    const [inspected, unpacked] = await Promise.allSettled([inspectTarball(file, limits), unpackTarball(file, into, limits)])
    for (const outcome of [inspected, unpacked])
      if (outcome.status === 'rejected' && !isRefusal(outcome.reason)) throw outcome.reason
    // The names of a file system may be fewer than those of an archive, never more.
    if (inspected.status === 'rejected' && unpacked.status === 'fulfilled')
      throw new Error('refused by the inspection, accepted by unpacking')
    const around = await readdir(join(base, 'around'))
    if (around.join() !== (unpacked.status === 'fulfilled' ? 'into' : '')) throw new Error(`left behind: ${around.join()}`)
    if (unpacked.status === 'fulfilled') await staysInside(into)
  } finally {
    await rm(base, { recursive: true, force: true })
  }
}

async function staysInside(root: string): Promise<void> {
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const real = entry.isSymbolicLink() ? await realpath(path).catch(() => root) : path
    if (real !== root && !real.startsWith(root + sep)) throw new Error(`${path} leads to ${await readlink(path)}`)
    if (!entry.isFile() && !entry.isDirectory() && !entry.isSymbolicLink()) throw new Error(`${path} is something else`)
  }
}

export const kinds: Fuzzed[] = [{ name: 'tarball', make, check, slowMs: 1_500 }] as Fuzzed[]

if (import.meta.main) await fuzzByHand('tarballs', kinds)
