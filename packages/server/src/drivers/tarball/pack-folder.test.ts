import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRunCommand } from '../shell/run-command.ts'
import { ChangedWhilePacking, type PackOptions, packFolder } from './pack-folder.ts'
import { receiveTarball } from './receive-tarball.ts'
import { unpackSource } from './unpack-source.ts'
import { unpackTarball } from './unpack-tarball.ts'

let base: string
let source: string
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'berth-pack-'))
  source = join(base, 'source')
  await mkdir(source)
})
afterEach(() => rm(base, { recursive: true, force: true }))

async function put(path: string, content = ''): Promise<void> {
  await mkdir(dirname(join(source, path)), { recursive: true })
  await writeFile(join(source, path), content)
}

async function packed(options?: PackOptions): Promise<string[]> {
  const archive = join(base, 'archive')
  await rm(join(base, 'into'), { recursive: true, force: true })
  await receiveTarball(packFolder(source, options), archive, { maxBytes: 50_000_000 })
  await unpackTarball(archive, join(base, 'into'))
  return (await readdir(join(base, 'into'), { recursive: true })).sort()
}

async function bytesOf(options?: PackOptions): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(packFolder(source, options)))
}

test('packed files are unpacked unchanged', async () => {
  await put('run.sh', '#!/bin/sh\n')
  await chmod(join(source, 'run.sh'), 0o755)
  await put(`deep/${'ä'.repeat(100)}/${'long'.repeat(40)}/file`, 'x'.repeat(300_000))
  await put('empty-file')
  await mkdir(join(source, 'empty-folder'))
  await symlink('deep', join(source, 'link'))
  expect(await packed()).toEqual((await readdir(source, { recursive: true })).sort())
  expect((await stat(join(base, 'into/run.sh'))).mode & 0o777).toBe(0o755)
  expect(await readFile(join(base, `into/deep/${'ä'.repeat(100)}/${'long'.repeat(40)}/file`), 'utf8')).toBe('x'.repeat(300_000))
})

test('the only folder in a folder is not taken as its root', async () => {
  await put('apps/web/index.html')
  await receiveTarball(packFolder(source), join(base, 'archive'), { maxBytes: 50_000_000 })
  expect(await unpackSource(join(base, 'archive'), join(base, 'into'))).toEqual({ rootName: null })
  expect((await readdir(join(base, 'into'), { recursive: true })).sort()).toEqual(['apps', 'apps/web', 'apps/web/index.html'])
})

test('tar reads the archive', async () => {
  await put('a/b', 'hello')
  await writeFile(join(base, 'archive'), await bytesOf())
  const run = createRunCommand(process.env)
  const { stdout } = await run(
    { program: 'tar', args: ['-tzf', join(base, 'archive')] },
    { timeoutMs: 60_000, maxOutputBytes: 1000 },
  )
  expect(stdout).toBe('.berth-source/a/\n.berth-source/a/b\n')
})

test('the same files give the same bytes', async () => {
  for (const path of ['b', 'a/2', 'a/1', 'B', 'a-b']) await put(path, path)
  const first = await bytesOf()
  await rm(join(source, 'a'), { recursive: true })
  await put('a/1', 'a/1')
  await put('a/2', 'a/2')
  await utimes(join(source, 'b'), 1, 1)
  expect((await bytesOf()).equals(first)).toBe(true)
})

test('.git, node_modules and files ignored by .gitignore and .berthignore are excluded', async () => {
  await put('.gitignore', 'dist/\n*.log\n!keep.log\n/only-top\n.env\n')
  await put('.berthignore', '!.env\nfixtures\n')
  await put('pkg/.gitignore', 'local\n!debug.log\n')
  for (const path of ['.git/HEAD', 'node_modules/x', 'pkg/node_modules/x', 'dist/x', 'pkg/dist/x', 'a.log', 'keep.log'])
    await put(path)
  for (const path of ['only-top', 'pkg/only-top', '.env', 'fixtures/x', 'pkg/local', 'local', 'pkg/debug.log']) await put(path)
  expect(await packed()).toEqual(
    ['.berthignore', '.env', '.gitignore', 'keep.log', 'local', 'pkg', 'pkg/.gitignore', 'pkg/debug.log', 'pkg/only-top'].sort(),
  )
  expect(await packed({ ignore: ['.*', '!.env', 'pkg/*', '*.log'] })).toEqual(['.env', 'local', 'pkg'])
})

test('a default rule excludes files and reports them, unless an ignore file or an extra rule decides', async () => {
  await put('.berthignore', '!/kept/.env\nsilent/.env\n')
  for (const path of ['.env', 'a/.env', 'kept/.env', 'silent/.env', '.env.example']) await put(path)
  const reported: string[] = []
  const options = { ignoreByDefault: ['.env'], onIgnoredByDefault: (path: string) => void reported.push(path) }
  expect(await packed(options)).toEqual(['.berthignore', '.env.example', 'a', 'kept', 'kept/.env', 'silent'])
  expect(reported).toEqual(['.env', 'a/.env'])
  expect(await packed({ ...options, ignore: ['!.env'] })).toEqual(
    expect.arrayContaining(['.env', 'a/.env', 'kept/.env', 'silent/.env']),
  )
})

test('symlinks out of the folder and pipes are skipped and reported', async () => {
  await put('file')
  await symlink('/etc/passwd', join(source, 'absolute'))
  await symlink('../other', join(source, 'up'))
  await createRunCommand(process.env)(
    { program: 'mkfifo', args: [join(source, 'pipe')] },
    { timeoutMs: 60_000, maxOutputBytes: 1000 },
  )
  const skipped: string[] = []
  expect(await packed({ onSkipped: (path) => skipped.push(path) })).toEqual(['file'])
  expect(skipped).toEqual(['absolute', 'pipe', 'up'])
})

test('a file that shrinks while it is read is an error', async () => {
  await put('a', String(Math.random()).repeat(200_000))
  const racing = (async () => {
    let first = true
    for await (const _chunk of packFolder(source)) {
      if (first) await truncate(join(source, 'a'), 10)
      first = false
    }
  })()
  await expect(racing).rejects.toBeInstanceOf(ChangedWhilePacking)
})

test('an abort, and a reader that stops, end the packing', async () => {
  for (let index = 0; index < 50; index += 1) await put(`f${index}`, String(Math.random()).repeat(10_000))
  for await (const _chunk of packFolder(source)) break
  const stop = new AbortController()
  const packing = (async () => {
    for await (const _chunk of packFolder(source, { abort: stop.signal })) stop.abort(new Error('cancelled'))
  })()
  await expect(packing).rejects.toThrow('cancelled')
})

test('a missing folder is ENOENT', async () => {
  await expect(Array.fromAsync(packFolder(join(base, 'nowhere')))).rejects.toMatchObject({ code: 'ENOENT' })
})
