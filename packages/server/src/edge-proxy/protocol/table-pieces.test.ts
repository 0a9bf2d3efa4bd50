import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { EdgeHost, EdgeTable } from './edge-table.ts'
import { changePieces, TableState, wholePieces } from './table-pieces.ts'

const host = (projectId: string): EdgeHost => ({ target: { kind: 'disabled', projectId } })
const table = (names: string[], version = 1): EdgeTable => ({
  version,
  hosts: Object.fromEntries(names.map((name) => [name, host(name)])),
  certificates: {},
})
const taken = (state: TableState) => {
  const hosts: Record<string, EdgeHost> = {}
  const certificates: Record<string, unknown> = {}
  for (const piece of state.pieces()) {
    for (const [name, value] of piece.hosts) hosts[name] = value!
    for (const [name, value] of piece.certificates) certificates[name] = value
  }
  return { hosts, certificates, version: state.version }
}

describe('tables in pieces', () => {
  test('a change contains only the differences', () => {
    const before = table(['a', 'b', 'c'])
    const after = { ...table(['b', 'c', 'd'], 2), challenges: { t: 'x' } }
    const [piece, ...others] = [...changePieces(before, 't1', after, 't2')]
    expect(others).toEqual([])
    expect(piece).toEqual({
      base: 't1',
      token: 't2',
      version: 2,
      hosts: [
        ['a', null],
        ['d', host('d')],
      ],
      certificates: [],
      rest: { challenges: { t: 'x' } },
      last: true,
    })
  })

  test('a large table is sent in several small pieces, and complete with the last', () => {
    const names = Array.from({ length: 950 }, (_, at) => `h${at}`)
    const whole = { ...table(names), certificates: Object.fromEntries(names.map((name) => [name, { cert: name, key: name }])) }
    const pieces = [...wholePieces(whole, 't')]
    expect(Math.max(...pieces.map((piece) => piece.hosts.length + piece.certificates.length))).toBeLessThanOrEqual(200)
    const state = new TableState()
    expect(pieces.map((piece) => state.take(piece)).indexOf(true)).toBe(pieces.length - 1)
    expect(taken(state)).toMatchObject({ hosts: whole.hosts, certificates: whole.certificates })
  })

  test('a change without its last piece has no effect', () => {
    const state = new TableState()
    for (const piece of wholePieces(table(['a']), 't1')) state.take(piece)
    const [first] = changePieces(table(['a']), 't1', table(Array.from({ length: 300 }, (_, at) => `h${at}`)), 't2')
    state.take(first!)
    expect(Object.keys(taken(state).hosts)).toEqual(['a'])
    for (const piece of changePieces(table(['a']), 't1', table(['a', 'b'], 3), 't3')) state.take(piece)
    expect(taken(state)).toMatchObject({ hosts: table(['a', 'b']).hosts, version: 3 })
    expect(() => state.take({ ...first!, token: 't4' })).toThrow('unknown base')
  })

  test('any sequence of changes results in the last table', () => {
    const anyTable = fc.uniqueArray(fc.constantFrom(...'abcdefgh'), { maxLength: 8 }).map((names) => table(names))
    fc.assert(
      fc.property(fc.array(anyTable, { minLength: 1 }), (tables) => {
        const state = new TableState()
        let previous: EdgeTable | undefined
        tables.forEach((next, at) => {
          for (const piece of changePieces(previous, previous ? `t${at - 1}` : null, next, `t${at}`)) state.take(piece)
          previous = next
        })
        expect(taken(state).hosts).toEqual(previous!.hosts)
      }),
    )
  })
})
