import { describe, expect, test } from 'vitest'
import { checkConfig } from './config-rules.ts'

const mount = (source: string | null, type: 'bind' | 'volume' | 'tmpfs' = 'bind', target = '/t') => ({
  services: [{ name: 'a', volumes: [{ type, source, target }] }],
})

describe('mounts of a service', () => {
  test.each(['data', './data', 'a/b..c/d', '.', '..data'])('%s is accepted as a source in the project', (source) => {
    expect(() => checkConfig(mount(source))).not.toThrow()
  })
  test.each(['/', '/etc', '..', '../x', 'a/..', 'a/../..', '..', '~', '~root/x', 'C:\\x', 'C:/x', 'a\\..\\..', 'a\0', ''])(
    '%j is refused as a source',
    (source) => expect(() => checkConfig(mount(source))).toThrow(/outside the project/),
  )
  test('a host path that an adoption has recorded is accepted, and no other', () => {
    const { services } = mount('/srv/old/data')
    expect(() => checkConfig(mount('/srv/old/data'), services)).not.toThrow()
    expect(() => checkConfig(mount('/srv/old'), services)).toThrow()
  })
  test('a volume is given by name, never by path', () => {
    expect(() => checkConfig(mount('data', 'volume'))).not.toThrow()
    expect(() => checkConfig(mount(null, 'volume'))).not.toThrow()
    for (const source of ['/etc', './x', '../x', '-x'])
      expect(() => checkConfig(mount(source, 'volume'))).toThrow(/not a valid volume name/)
  })
  test('the target has to be an absolute path without ..', () => {
    for (const target of ['data', '/', '/a/../b', '']) expect(() => checkConfig(mount('x', 'bind', target))).toThrow(/absolute/)
    expect(() => checkConfig(mount(null, 'tmpfs', '/tmp'))).not.toThrow()
  })
})
