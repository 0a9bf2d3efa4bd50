import { describe, expect, test } from 'vitest'
import type { EdgeHost, EdgeTable } from '../../edge-proxy/protocol/edge-table.ts'
import { type TablePiece, TableState } from '../../edge-proxy/protocol/table-pieces.ts'
import type { EdgeLink } from './edge-link.ts'
import { TableSender } from './table-sender.ts'

const host = (projectId: string): EdgeHost => ({ target: { kind: 'disabled', projectId } })

/** An edge in memory that puts tables together as the real one does. */
function edge(token: string | null = null, state = new TableState()) {
  const pieces: TablePiece[] = []
  const link = {
    identity: { token },
    async call(_call: string, [piece]: TablePiece[]) {
      pieces.push(piece!)
      return state.take(piece!) ? { version: piece!.version, warnings: [] } : null
    },
  } as unknown as EdgeLink
  const hosts = () => [...state.pieces()].flatMap((piece) => piece.hosts.map(([name]) => name)).sort()
  return { link, pieces, hosts, state }
}
const table = (version: number, ...names: string[]): EdgeTable => ({
  version,
  hosts: Object.fromEntries(names.map((name) => [name, host(name)])),
})

describe('sending tables', () => {
  test('sends only changes after the first table', async () => {
    const { link, pieces, hosts } = edge()
    const sender = new TableSender()
    await sender.send(link, () => table(1, 'a', 'b'))
    await sender.send(link, () => table(2, 'b', 'c'))
    expect(hosts()).toEqual(['b', 'c'])
    expect(pieces[1]!.hosts.map(([name]) => name)).toEqual(['a', 'c'])
  })

  test('detects entries added to a table that was sent before', async () => {
    const { link, hosts } = edge()
    const sender = new TableSender()
    const kept = table(1, 'a')
    await sender.send(link, () => kept)
    kept.hosts.b = host('b')
    await sender.send(link, () => kept)
    expect(hosts()).toEqual(['a', 'b'])
  })

  test('sends a complete table to an edge with an unknown table, and only changes otherwise', async () => {
    const first = edge()
    const sender = new TableSender()
    await sender.send(first.link, () => table(1, 'a', 'b'))
    const again = edge(first.state.token, first.state)
    await sender.send(again.link, () => table(2, 'a', 'b', 'c'))
    expect(again.pieces[0]!.hosts.map(([name]) => name)).toEqual(['c'])
    const other = edge('something else')
    await sender.send(other.link, () => table(3, 'a'))
    expect(other.pieces[0]!.base).toBeNull()
    expect(other.hosts()).toEqual(['a'])
  })

  test('sends a complete table if the edge has lost its table', async () => {
    const { link, hosts, state } = edge()
    const sender = new TableSender()
    await sender.send(link, () => table(1, 'a'))
    state.take({ base: null, token: 'x', version: 9, hosts: [], certificates: [], last: true })
    await sender.send(link, () => table(2, 'a', 'b'))
    expect(hosts()).toEqual(['a', 'b'])
  })

  test('sends only the last of several waiting tables', async () => {
    const { link, pieces, hosts } = edge()
    const sender = new TableSender()
    let wanted = table(1, 'a')
    const sent = [1, 2, 3].map((version) => {
      wanted = table(version, `v${version}`)
      return sender.send(link, () => wanted)
    })
    expect((await Promise.all(sent)).map(({ version }) => version)).toEqual([3, 3, 3])
    expect(hosts()).toEqual(['v3'])
    expect(pieces.filter((piece) => piece.hosts.length > 0)).toHaveLength(1)
  })
})
