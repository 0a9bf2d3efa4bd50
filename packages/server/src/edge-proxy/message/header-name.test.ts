import { describe, expect, test } from 'vitest'
import { decimal, headerName } from './header-name.ts'

const classified = (name: string) => headerName(`before\r\n${name}: value`, 8, 8 + name.length)

describe('a header name', () => {
  test('has the same role before and after other names of its length and first letter', () => {
    const others = Array.from({ length: 50 }, (_, at) => `host${String(at).padStart(2, '0')}`)
    for (let round = 0; round < 2; round += 1) {
      for (const name of others) expect(classified(name)).toEqual({ lower: name, role: 'pass' })
      for (const name of ['Host', 'host', 'HOST', 'hOsT']) expect(classified(name)).toEqual({ lower: 'host', role: 'host' })
      expect(classified('x-host')?.role).toBe('forged')
    }
  })

  test('has the same role after more names than are kept', () => {
    expect(classified('Content-Length')?.role).toBe('contentLength')
    for (let at = 0; at < 4_500; at += 1) expect(classified(`content-lengt${at}`)?.role).toBe('pass')
    expect(classified('Content-Length')?.role).toBe('contentLength')
    expect(classified('content-length')?.role).toBe('contentLength')
  })

  test('of another length or with another first letter is not taken for a known one', () => {
    expect(classified('Host')?.role).toBe('host')
    // The same place in the table: 32 characters more, and a letter with the same lowest bits.
    expect(classified(`Host${'x'.repeat(32)}`)?.role).toBe('pass')
    expect(classified('(ost')).toBeUndefined()
    expect(headerName(': value', 0, 0)).toBeUndefined()
  })
})

test('a decimal is at most 15 digits and nothing else', () => {
  expect(['0', '007', '1024', '999999999999999'].map(decimal)).toEqual([0, 7, 1024, 999_999_999_999_999])
  for (const text of ['', '-1', '+1', ' 1', '1 ', '1.0', '1e3', '0x10', '1,2', '١', '1'.repeat(16)])
    expect(decimal(text)).toBe(-1)
})
