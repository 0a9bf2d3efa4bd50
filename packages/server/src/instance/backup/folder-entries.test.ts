import { chmodSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TempFolder, tempFolder } from '../../../../../tests/kit/temp-folder.ts'
import { createRunCommand } from '../../drivers/shell/run-command.ts'
import { readTar } from '../../drivers/tar/read-tar.ts'
import { tarEnd } from '../../drivers/tar/tar-header.ts'
import { readConfig } from '../config/config.ts'
import { folderEntries } from './folder-entries.ts'

let folder: TempFolder
let dataDir: string
let snapshot: string
const size = 200_000
const abort = new AbortController().signal
beforeEach(async () => {
  folder = await tempFolder('folder-entries')
  dataDir = join(folder.path, 'data')
  snapshot = join(folder.path, 'snapshot')
  mkdirSync(join(dataDir, 'logs'), { recursive: true })
  mkdirSync(snapshot)
  writeFileSync(join(snapshot, 'berth.db'), 'database')
  for (const name of ['late', 'empty']) {
    writeFileSync(join(dataDir, 'logs', name), '')
    truncateSync(join(dataDir, 'logs', name), size)
  }
})
afterEach(() => folder.remove())

/** A folder with a `tar` that runs the real one and then some more lines of shell. */
function tarFollowedBy(lines: string): string {
  const bin = join(folder.path, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'tar'), `#!/bin/sh\nPATH=\${PATH#*:}\ntar "$@" || exit\n${lines}\n`)
  chmodSync(join(bin, 'tar'), 0o755)
  return `${bin}:${process.env.PATH}`
}

async function archive(path = process.env.PATH ?? ''): Promise<Buffer> {
  const config = readConfig({ PATH: path, HOME: folder.path, BERTH_DATA_DIR: dataDir })
  const parts = { snapshot, excludedFolders: [], excludedNames: ['left-out'], abort }
  return Buffer.concat([...(await Array.fromAsync(folderEntries(config, parts))), tarEnd])
}

async function namesIn(bytes: Buffer): Promise<string[]> {
  const source = (async function* () {
    yield bytes
  })()
  return (await Array.fromAsync(readTar(source))).map(({ header }) => header.name)
}

test('a file that tar stored as one hole, and that has data, is added again', async () => {
  const bytes = await archive(tarFollowedBy(`head -c ${size} /dev/zero | tr '\\0' x > '${join(dataDir, 'logs', 'late')}'`))
  expect((await namesIn(bytes)).filter((name) => name === './logs/late')).toHaveLength(2)
  const target = join(folder.path, 'restored')
  mkdirSync(target)
  const command = { program: 'tar', args: ['--extract', `--directory=${target}`] }
  await createRunCommand(process.env)(command, { input: bytes, timeoutMs: 60_000, maxOutputBytes: 4_096 })
  expect(readFileSync(join(target, 'logs', 'late'), 'utf8')).toBe('x'.repeat(size))
  expect(statSync(join(target, 'logs', 'empty'))).toMatchObject({ size, blocks: 0 })
  expect(readFileSync(join(target, 'berth.db'), 'utf8')).toBe('database')
})

test('a file without data stays a hole; names of any bytes are kept, excluded ones are left out', async () => {
  const odd = Buffer.concat([Buffer.from(`${dataDir}/`), Buffer.from([0xff, 0x0a, 0x5b])])
  writeFileSync(odd, 'odd')
  writeFileSync(join(dataDir, 'left-out'), '')
  const names = await namesIn(await archive())
  expect(names.toSorted()).toEqual(['./', './logs/', './logs/empty', './logs/late', './\xff\n[', 'berth.db'].toSorted())
})

test('a file that was removed after tar stored it as one hole is no error', async () => {
  const bytes = await archive(tarFollowedBy(`rm -f '${join(dataDir, 'logs', 'late')}'`))
  expect((await namesIn(bytes)).filter((name) => name === './logs/late')).toHaveLength(1)
})
