// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { describe, expect, test } from 'vitest'
import { gives, web } from './compose-case.ts'

describe('volumes', () => {
  const declared = 'volumes: { data: }'
  const mount = (type: string, source: string | null, target: string, readOnly = false) => ({ type, source, target, readOnly })
  test.each([
    ['/var/lib/data', mount('volume', null, '/var/lib/data')],
    ['data:/data', mount('volume', 'data', '/data')],
    ['data:/data:ro', mount('volume', 'data', '/data', true)],
    ['data:/data/:rw,z', mount('volume', 'data', '/data')],
    ['./src:/app/src', mount('bind', 'src', '/app/src')],
    ['.:/app', mount('bind', '.', '/app')],
    ['./a/../b:/b:ro,cached', mount('bind', 'b', '/b', true)],
    ['/srv/shop/conf:/conf', mount('bind', 'conf', '/conf')],
    ['${PWD}/conf:/conf', mount('bind', 'conf', '/conf')],
    [
      '{ type: volume, source: data, target: /data, read_only: true, volume: { nocopy: false } }',
      mount('volume', 'data', '/data', true),
    ],
    ['{ type: volume, target: /data }', mount('volume', null, '/data')],
    ['{ source: data, target: /data }', mount('volume', 'data', '/data')],
    ['{ type: bind, source: conf, target: /conf, bind: { create_host_path: true, selinux: z } }', mount('bind', 'conf', '/conf')],
    ['{ type: tmpfs, target: /run, tmpfs: { size: 64m } }', { ...mount('tmpfs', null, '/run'), sizeMb: 64 }],
    ['{ type: tmpfs, target: /run }', mount('tmpfs', null, '/run')],
  ])('%s', (text, expected) => {
    const file = web(`volumes:\n  - ${text}`, {}, declared)
    expect(file.web.volumes).toEqual([expected])
    expect([file.warnings, file.refused]).toEqual([[], []])
  })
  test('tmpfs with and without a size', () => {
    gives('tmpfs: /run', { volumes: [{ type: 'tmpfs', source: null, target: '/run', readOnly: false }] })
    gives('tmpfs: ["/tmp:size=64m,mode=1777", /run]', {
      volumes: [
        { type: 'tmpfs', source: null, target: '/tmp', readOnly: false, sizeMb: 64, options: ['mode=1777'] },
        { type: 'tmpfs', source: null, target: '/run', readOnly: false },
      ],
    })
  })
  test('the last mount of a target wins', () =>
    gives('volumes: ["./a:/x", "./b:/x"]', { volumes: [{ type: 'bind', source: 'b', target: '/x', readOnly: false }] }))
  test('an undeclared volume is created with a warning', () => {
    const file = web('volumes: [cache:/cache]')
    expect(file.volumes).toEqual([{ name: 'cache', hostName: null, external: false, labels: {} }])
    expect(file.warnings).toEqual([
      { path: 'services.web.volumes', message: 'the volume "cache" is not declared under volumes; it is created anyway' },
    ])
  })
  test('secrets and configs that are files are read-only binds', () => {
    const file = web(
      'secrets: [password, { source: key, target: tls.key, mode: 0440 }]\nconfigs: [{ source: conf, target: /etc/app.conf }, conf2]',
      {},
      `
secrets: { password: { file: ./password.txt }, key: { file: secrets/key.pem } }
configs: { conf: { file: ./app.conf }, conf2: { content: hello } }`,
    )
    expect(file.web.volumes).toEqual([
      mount('bind', 'password.txt', '/run/secrets/password', true),
      mount('bind', 'secrets/key.pem', '/run/secrets/tls.key', true),
      mount('bind', 'app.conf', '/etc/app.conf', true),
    ])
    expect(file.refused).toEqual([])
    expect(file.warnings).toMatchObject([{ path: 'services.web.secrets.1.mode' }])
    expect(file.web.files).toEqual([{ path: '/conf2', content: 'hello', mode: 0o444, uid: 0, gid: 0 }])
  })
  test('content and values of variables are files of the container', () => {
    const file = web(
      'secrets: [token, { source: key, target: /key, uid: "33", gid: "34", mode: 0400 }]\nconfigs: [{ source: conf, target: /etc/app.conf }]',
      { env: { TOKEN: 's3cret', HOST: 'db' } },
      `
secrets: { token: { environment: TOKEN }, key: { environment: TOKEN } }
configs: { conf: { content: "host=\${HOST}\\n" } }`,
    )
    expect(file.web.files).toEqual([
      { path: '/run/secrets/token', content: 's3cret', mode: 0o444, uid: 0, gid: 0 },
      { path: '/key', content: 's3cret', mode: 0o400, uid: 33, gid: 34 },
      { path: '/etc/app.conf', content: 'host=db\n', mode: 0o444, uid: 0, gid: 0 },
    ])
    expect(file.web.variables).toContain('TOKEN')
    expect([file.warnings, file.refused, file.missing]).toEqual([[], [], []])
  })
  test.each([
    ['secrets: [s]', 'secrets: { s: { external: true } }', 'secrets.s.external'],
    ['configs: [c]', 'configs: { c: { file: ./a, content: b } }', 'configs.c'],
    ['configs: [c]', 'configs: { c: { content: b, template_driver: golang } }', 'configs.c.template_driver'],
    ['read_only: true\nconfigs: [c]', 'configs: { c: { content: b } }', 'services.web.read_only'],
    ['configs: [{ source: c, mode: all }]', 'configs: { c: { content: b } }', 'services.web.configs.0.mode'],
  ])('%s with %s is refused', (fields, rest, path) =>
    expect(web(fields, {}, rest).refused.map((one) => one.path)).toEqual([path]),
  )
  test('an unset variable is missing', () =>
    expect(web('secrets: [s]', {}, 'secrets: { s: { environment: GONE } }').missing).toMatchObject([{ variable: 'GONE' }]))
})
