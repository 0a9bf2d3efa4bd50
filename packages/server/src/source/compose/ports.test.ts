// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { describe, expect, test } from 'vitest'
import { gives, web } from './compose-case.ts'
import type { ComposeService } from './model.ts'

describe('ports', () => {
  const port = (target: number, published: number | null = null, hostIp: string | null = null, protocol = 'tcp') => ({
    hostIp,
    published,
    target,
    protocol,
  })
  test.each([
    ['3000', [port(3000)]],
    ['"3000"', [port(3000)]],
    ['"8000:3000"', [port(3000, 8000)]],
    ['22:22', [port(22, 22)]],
    ['"127.0.0.1:8001:80"', [port(80, 8001, '127.0.0.1')]],
    ['"127.0.0.1::80"', [port(80, null, '127.0.0.1')]],
    ['"[::1]:8001:80"', [port(80, 8001, '::1')]],
    ['"::1:8001:80"', [port(80, 8001, '::1')]],
    ['"6060:6060/udp"', [port(6060, 6060, null, 'udp')]],
    ['"3000-3002"', [port(3000), port(3001), port(3002)]],
    ['"9090-9091:80-81"', [port(80, 9090), port(81, 9091)]],
    ['{ target: 80 }', [port(80)]],
    [
      '{ target: 80, published: "8080", host_ip: 10.0.0.1, protocol: udp, mode: host, name: w, app_protocol: http }',
      [port(80, 8080, '10.0.0.1', 'udp')],
    ],
    ['{ target: "80", published: 8080 }', [port(80, 8080)]],
  ])('%s', (text, ports) => gives(`ports:\n  - ${text}`, { ports } as Partial<ComposeService>))
  test.each(['0', '65536', 'http', '80/icmp', '80/tcp/x', '1-60000', '9-5', '{ published: 80 }', '{ target: x }', '"-1"'])(
    '%s is not a port',
    (text) => {
      const file = web(`ports:\n  - ${text}`)
      expect(file.web.ports).toEqual([])
      expect(file.refused).toEqual([{ path: 'services.web.ports.0', message: expect.stringMatching(/is not a port/) }])
    },
  )
  test('an invalid host port is refused', () => {
    const file = web('ports: ["x:80"]')
    expect([file.web.ports, file.refused]).toEqual([
      [],
      [{ path: 'services.web.ports.0', message: expect.stringContaining('"x" is not a port of the host') }],
    ])
  })
  test('for a range of host ports the first one is used', () => {
    const file = web('ports: ["3000-3005:80"]')
    expect(file.web.ports).toEqual([port(80, 3000)])
    expect(file.warnings[0]!.message).toBe('only the first port of "3000-3005" is used')
  })
  test('exposed ports', () =>
    gives('expose: [3000, "8000/udp", "81-82"]', {
      expose: [
        { target: 3000, protocol: 'tcp' },
        { target: 8000, protocol: 'udp' },
        { target: 81, protocol: 'tcp' },
        { target: 82, protocol: 'tcp' },
      ],
    }))
})
