import { describe, expect, test } from 'vitest'
import { checkConfig } from './config-rules.ts'

const mount = (source: string | null, type: 'bind' | 'volume' | 'tmpfs' = 'bind', target = '/t') => ({
  services: [{ name: 'a', volumes: [{ type, source, target }] }],
})

describe('mounts of a service', () => {
  test.each(['data', './data', 'a/b..c/d', '.', '..data'])('%s lies in the project', (source) => {
    expect(() => checkConfig(mount(source))).not.toThrow()
  })
  test.each(['/', '/etc', '..', '../x', 'a/..', 'a/../..', '..', '~', '~root/x', 'C:\\x', 'C:/x', 'a\\..\\..', 'a\0', ''])(
    '%j does not',
    (source) => expect(() => checkConfig(mount(source))).toThrow(/outside the project/),
  )
  test('a path of the host that an adoption has recorded stays usable, and no other', () => {
    const { services } = mount('/srv/old/data')
    expect(() => checkConfig(mount('/srv/old/data'), services)).not.toThrow()
    expect(() => checkConfig(mount('/srv/old'), services)).toThrow()
  })
  test('a volume goes by a name, never by a path', () => {
    expect(() => checkConfig(mount('data', 'volume'))).not.toThrow()
    expect(() => checkConfig(mount(null, 'volume'))).not.toThrow()
    for (const source of ['/etc', './x', '../x', '-x'])
      expect(() => checkConfig(mount(source, 'volume'))).toThrow(/not a valid volume name/)
  })
  test('the target is an absolute path without ..', () => {
    for (const target of ['data', '/', '/a/../b', '']) expect(() => checkConfig(mount('x', 'bind', target))).toThrow(/absolute/)
    expect(() => checkConfig(mount(null, 'tmpfs', '/tmp'))).not.toThrow()
  })
})
