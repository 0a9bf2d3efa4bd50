import { expect, test } from 'vitest'
import { mirrorNames } from '../../../registry/image-name.ts'
import type { StartRequest } from '../../runtime.ts'
import { needsBuildKit } from '../build/build-dockerfile.ts'
import { containerSettings, startArgv } from './container-settings.ts'
import { sinceOf } from './logs.ts'

test.each<[string, string[]]>([
  ['node server.js', ['node', 'server.js']],
  ['php -S 0.0.0.0:$PORT', ['/bin/sh', '-c', 'exec php -S 0.0.0.0:$PORT']],
  ['npm run migrate && npm start', ['/bin/sh', '-c', 'npm run migrate && npm start']],
  ['A=1 node server.js', ['/bin/sh', '-c', 'A=1 node server.js']],
])('the start command receives the stop signal: %s', (command, words) => {
  expect(startArgv(command)).toEqual(words)
})

test('a plan of an older version can disable IPv6 but not enable it: the egress filter covers IPv4 only', () => {
  const sysctlsOf = (value: string) => {
    const request = {
      instanceId: 'ins_1',
      artifact: { kind: 'image', reference: 'a', sizeBytes: 0, startCommand: null },
      env: {},
      port: null,
      volumes: [],
      network: { name: 'n', aliases: [] },
      resources: { cpuCores: 1, memoryMb: 64, diskMb: 100 },
      container: { sysctls: { 'net.ipv6.conf.all.disable_ipv6': value, 'net.core.somaxconn': '77' } },
    } as unknown as StartRequest
    const location = { image: 'a', labels: {}, networks: [], hostPort: null, volumeNames: new Map(), isUnprivileged: true }
    return containerSettings(request, location).HostConfig?.Sysctls
  }
  expect(sysctlsOf('0')).toEqual({ 'net.core.somaxconn': '77' })
  expect(sysctlsOf('1')).toEqual({ 'net.core.somaxconn': '77', 'net.ipv6.conf.all.disable_ipv6': '1' })
})

test.each<[string, string[]]>([
  ['node:24', ['mirror.local/node:24', 'mirror.local/library/node:24']],
  ['oven/bun:1', ['mirror.local/oven/bun:1']],
  ['mcr.microsoft.com/dotnet/sdk:9.0', ['mirror.local/dotnet/sdk:9.0']],
  ['mirror.local/mine:1', ['mirror.local/mine:1']],
])('images come from the mirror: %s', (image, names) => {
  expect(mirrorNames(image, 'mirror.local')).toEqual(names)
})

test.each<[string, boolean]>([
  ['FROM a\nRUN make', false],
  ['FROM a\nRUN --mount=type=cache,target=/x make', true],
  ['FROM a\nCOPY --link . .', true],
  ['FROM a\nRUN <<EOF\nmake\nEOF', true],
  ['FROM a\nCOPY --from=b . .', false],
])('whether BuildKit is needed: %j', (text, needed) => {
  expect(needsBuildKit(text)).toBe(needed)
})

test('a timestamp keeps its nanoseconds', () => {
  expect(sinceOf('2026-01-02T03:04:05.123456789Z')).toBe('1767323045.123456789')
  expect(sinceOf('2026-01-02T03:04:05.1Z')).toBe('1767323045.100000000')
})
