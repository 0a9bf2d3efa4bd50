import { appendFile, mkdtemp, readFile, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EdgeTable } from '../protocol/edge-table.ts'
import { changePieces, TableState } from '../protocol/table-pieces.ts'
import { TableFile } from './table-file.ts'

let folder: string
let path: string
let file: TableFile
let state: TableState
let previous: EdgeTable | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-table-'))
  path = join(folder, 'table.jsonl')
  file = new TableFile(path)
  state = new TableState()
  previous = undefined
})
afterEach(async () => {
  await file.close()
  await rm(folder, { recursive: true, force: true })
})

async function change(version: number, names: string[]): Promise<void> {
  const next: EdgeTable = {
    version,
    hosts: Object.fromEntries(names.map((name) => [name, { target: { kind: 'disabled', projectId: name } }])),
  }
  const pieces = [...changePieces(previous, state.token, next, `t${version}`)]
  for (const piece of pieces) state.take(piece)
  previous = next
  await file.add(pieces, () => state.pieces())
}
const kept = async () => {
  const read = await new TableFile(path).read()
  return { version: read.version, names: [...read.pieces()].flatMap((piece) => piece.hosts.map(([name]) => name)).sort() }
}

describe('the table on disk', () => {
  test('is the last one after any number of changes', async () => {
    await change(1, ['a', 'b'])
    await change(2, ['b', 'c'])
    await change(3, ['b', 'c', 'd'])
    expect(await kept()).toEqual({ version: 3, names: ['b', 'c', 'd'] })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  test('is the previous one if the last change was truncated at any byte', async () => {
    await change(1, ['a'])
    const before = (await stat(path)).size
    await change(2, ['a', 'b'])
    const after = (await stat(path)).size
    expect(after).toBeGreaterThan(before)
    for (let size = after - 2; size >= before; size -= 7) {
      await truncate(path, size)
      expect(await kept()).toEqual({ version: 1, names: ['a'] })
    }
  })

  test('does not grow without limit', async () => {
    const names = Array.from({ length: 150 }, (_, at) => `host-${at}`)
    for (let version = 1; version <= 1_100; version += 1) await change(version, version % 2 ? names : names.slice(1))
    expect((await readFile(path, 'utf8')).split('\n').length).toBeLessThan(1_010)
    expect((await kept()).version).toBe(1_100)
  })

  test('that is invalid is ignored; the next change writes it again', async () => {
    await appendFile(path, 'nonsense')
    expect(await kept()).toEqual({ version: 0, names: [] })
    await change(1, ['a'])
    expect(await kept()).toEqual({ version: 1, names: ['a'] })
  })

  test('continued by a new process is complete', async () => {
    await change(1, ['a'])
    await change(2, ['a', 'b'])
    await file.close()
    file = new TableFile(path)
    await change(3, ['b', 'c'])
    await change(4, ['b', 'c', 'd'])
    expect(await kept()).toEqual({ version: 4, names: ['b', 'c', 'd'] })
  })
})
