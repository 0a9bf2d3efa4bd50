import { chmod, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { need } from '../../../../../../tests/kit/machine.ts'
import { tempFolder } from '../../../../../../tests/kit/temp-folder.ts'
import { createRunCommand } from '../../shell/run-command.ts'
import { nginxDriver } from '../edge-fixture.ts'
import { findNginx, readVersion } from './nginx-program.ts'
import { kernelAddress } from './open-connections.ts'

const modules = '--with-http_ssl_module --with-http_v2_module --with-http_realip_module --with-http_auth_request_module'
const run = createRunCommand({ PATH: '' })

test('the version is read, and an nginx that cannot be used is refused with what to install', () => {
  expect(readVersion(`nginx version: nginx/1.22.1\nconfigure arguments: ${modules}`)).toEqual([1, 22, 1])
  expect(readVersion(`nginx version: openresty/1.25.3.1\n${modules}`)).toEqual([1, 25, 3])
  expect(() => readVersion(`nginx version: nginx/1.18.0\n${modules}`)).toThrow(
    /^BERTH_EDGE is "nginx", but the installed nginx 1\.18\.0 is too old\. Install nginx 1\.20 or later .*$/,
  )
  expect(() => readVersion('nginx version: nginx/1.26.0\n--with-http_ssl_module --with-http_v2_module')).toThrow(
    'built without http_realip_module, http_auth_request_module',
  )
  expect(() => readVersion('something else')).toThrow('does not state its version')
})

test('a missing program is one line that says what to install', async () => {
  const missing = await findNginx(run, '/nowhere/nginx').catch((cause: Error) => cause)
  expect(missing).toMatchObject({ name: 'ConfigError', variable: 'BERTH_EDGE' })
  expect((missing as Error).message).toMatch(
    /^BERTH_EDGE is "nginx", but nginx is not installed\. Install nginx 1\.20 or later [^\n]*$/,
  )
})

test('an nginx without a path is found and started through PATH', { timeout: 60_000 }, async () => {
  const path = dirname(need('nginx'))
  await using folder = await tempFolder('nginx-path')
  const driver = nginxDriver(folder.path, 'nginx', { run: createRunCommand({ PATH: path }), path })
  try {
    expect(await driver.start()).toMatchObject({ https: null })
  } finally {
    await driver.stop({ keepServing: false, graceMs: 500 })
  }
})

test('an nginx that ends with an error is named', async () => {
  await using folder = await tempFolder('nginx-program')
  const program = join(folder.path, 'nginx')
  await writeFile(program, '#!/bin/sh\nexit 3\n')
  await chmod(program, 0o755)
  await expect(findNginx(run, program)).rejects.toThrow(/^BERTH_EDGE is "nginx", but .*nginx cannot be run: /)
})

test.each([
  ['127.0.0.1', '0100007F:1F90'],
  ['10.1.2.3', '0302010A:1F90'],
  ['::1', '00000000000000000000000001000000:1F90'],
  ['2001:db8::ff00:42:8329', 'B80D01200000000000FF000029834200:1F90'],
  ['::ffff:10.1.2.3', '0000000000000000FFFF00000302010A:1F90'],
])('the kernel writes %s as %s', (host, text) => {
  expect(kernelAddress({ host, port: 8_080 })).toBe(text)
})
