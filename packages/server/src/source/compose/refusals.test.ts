// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { describe, expect, test } from 'vitest'
import { readCompose } from './read-compose.ts'

const read = (text: string, env: Record<string, string> = {}) => readCompose(text, { folder: '/srv/shop', directory: '', env })
const web = (fields: string, env: Record<string, string> = {}) =>
  read(`services:\n  web:\n    image: nginx\n    ${fields.replaceAll('\n', '\n    ')}`, env)

describe('settings that escape the container are refused by path', () => {
  test.each([
    ['privileged: true', 'privileged'],
    ['privileged: "true"', 'privileged'],
    ['privileged: yes', 'privileged'],
    ['privileged: 1', 'privileged'],
    ['privileged: { a: b }', 'privileged'],
    ['use_api_socket: true', 'use_api_socket'],
    ['pid: host', 'pid'],
    ['pid: "container:other"', 'pid'],
    ['pid: [host]', 'pid'],
    ['ipc: host', 'ipc'],
    ['ipc: "container:other"', 'ipc'],
    ['network_mode: host', 'network_mode'],
    ['network_mode: "container:other"', 'network_mode'],
    ['network_mode: someones-network', 'network_mode'],
    ['userns_mode: host', 'userns_mode'],
    ['uts: host', 'uts'],
    ['cgroup: host', 'cgroup'],
    ['cgroup_parent: /', 'cgroup_parent'],
    ['cap_add: [SYS_ADMIN]', 'cap_add.0'],
    ['cap_add: [CHOWN, cap_net_admin]', 'cap_add.1'],
    ['cap_add: [ALL]', 'cap_add.0'],
    ['cap_add: [[SYS_ADMIN]]', 'cap_add.0'],
    ['devices: ["/dev/sda:/dev/sda"]', 'devices'],
    ['devices: [{ source: /dev/kvm }]', 'devices'],
    ['device_cgroup_rules: ["a *:* rwm"]', 'device_cgroup_rules'],
    ['gpus: all', 'gpus'],
    ['deploy: { resources: { reservations: { devices: [{ capabilities: [gpu] }] } } }', 'deploy.resources.reservations.devices'],
    ['security_opt: [seccomp:unconfined]', 'security_opt.0'],
    ['security_opt: [seccomp=unconfined]', 'security_opt.0'],
    ['security_opt: [seccomp:./profile.json]', 'security_opt.0'],
    ['security_opt: [apparmor:unconfined]', 'security_opt.0'],
    ['security_opt: [apparmor:mine]', 'security_opt.0'],
    ['security_opt: [systempaths=unconfined]', 'security_opt.0'],
    ['security_opt: [label:disable]', 'security_opt.0'],
    ['security_opt: [no-new-privileges:false]', 'security_opt.0'],
    ['security_opt: [no-new-privileges=false]', 'security_opt.0'],
    ['sysctls: { kernel.shmmax: 1024 }', 'sysctls.kernel.shmmax'],
    ['sysctls: [net.ipv4.ip_forward=1]', 'sysctls.net.ipv4.ip_forward'],
    ['sysctls: { net.ipv6.conf.all.disable_ipv6: 0 }', 'sysctls.net.ipv6.conf.all.disable_ipv6'],
    ['volumes: [{ type: tmpfs, target: /t, tmpfs: { mode: "755,rbind" } }]', 'volumes.0'],
    ['tmpfs: ["/t:suid"]', 'tmpfs'],
    ['volumes: ["/var/run/docker.sock:/var/run/docker.sock"]', 'volumes.0'],
    ['volumes: ["/run/containerd/containerd.sock:/x:ro"]', 'volumes.0'],
    ['volumes: ["./docker.sock:/x"]', 'volumes.0'],
    ['volumes: [{ type: bind, source: /var/run/docker.sock, target: /x }]', 'volumes.0'],
    ['volumes: ["/etc:/host"]', 'volumes.0'],
    ['volumes: ["/:/host"]', 'volumes.0'],
    ['volumes: ["../other:/x"]', 'volumes.0'],
    ['volumes: ["..:/x"]', 'volumes.0'],
    ['volumes: ["./a/../../other:/x"]', 'volumes.0'],
    ['volumes: ["/srv/shop/../other:/x"]', 'volumes.0'],
    ['volumes: ["/srv/shopping:/x"]', 'volumes.0'],
    ['volumes: ["~/.ssh:/x"]', 'volumes.0'],
    ['volumes: ["~root:/x"]', 'volumes.0'],
    ['volumes: ["C:\\\\data:/x"]', 'volumes.0'],
    ['volumes: ["a/../../b:/x"]', 'volumes.0'],
    ['volumes: ["./a:x"]', 'volumes.0'],
    ['volumes: ["./a:/"]', 'volumes.0'],
    ['volumes: ["./a:/x/.."]', 'volumes.0'],
    ['volumes: ["a:b:c:d"]', 'volumes.0'],
    ['volumes: [{ type: bind, source: ../x, target: /x }]', 'volumes.0'],
    ['volumes: [{ type: bind, target: /x }]', 'volumes.0'],
    ['volumes: [{ type: npipe, source: x, target: /x }]', 'volumes.0.type'],
    ['volumes_from: ["container:other"]', 'volumes_from.0'],
    ['external_links: [other]', 'external_links'],
    ['extends: { file: ../base.yml, service: a }', 'extends.file'],
    ['extends: { service: gone }', 'extends'],
    ['env_file: /etc/shadow', 'env_file'],
    ['env_file: [a.env, ../b.env]', 'env_file.1'],
    ['env_file: [{ path: ~/b.env }]', 'env_file.0'],
    ['label_file: /etc/labels', 'label_file'],
    ['build: ..', 'build'],
    ['build: /', 'build'],
    ['build: { context: ../other }', 'build.context'],
    ['build: https://example.com/repo.git', 'build'],
    ['build: git@example.com:a/b.git', 'build'],
    ['build: { context: ., dockerfile: ../Dockerfile }', 'build.dockerfile'],
    ['build: { context: ., dockerfile: /etc/passwd }', 'build.dockerfile'],
    ['build: { context: ., additional_contexts: { etc: /etc } }', 'build.additional_contexts.etc'],
    ['build: { context: ., additional_contexts: [etc=/etc] }', 'build.additional_contexts.etc'],
    ['build: { context: ., network: host }', 'build.network'],
    ['build: { context: ., privileged: true }', 'build.privileged'],
    ['build: { context: ., entitlements: [security.insecure] }', 'build.entitlements'],
    ['build: { context: ., ssh: [default] }', 'build.ssh'],
    ['provider: { type: /bin/sh }', 'provider'],
    ['credential_spec: { file: /etc/x }', 'credential_spec'],
  ])('%s', (fields, path) => {
    const { refused } = web(fields)
    expect(refused.map((one) => one.path)).toEqual([`services.web.${path}`])
  })

  test('a refused setting is not in the model', () => {
    const { services } = web('volumes: ["/etc:/host", "./ok:/ok"]\nenv_file: [../x.env, ok.env]\nbuild: ../other')
    expect(services[0]).toMatchObject({
      volumes: [{ type: 'bind', source: 'ok', target: '/ok', readOnly: false }],
      envFiles: [{ path: 'ok.env', required: true }],
      build: null,
    })
  })

  test('a variable cannot introduce a refused value', () => {
    expect(web('privileged: ${P}', { P: 'true' }).refused.map((one) => one.path)).toEqual(['services.web.privileged'])
    expect(web('volumes: ["${V}:/x"]', { V: '/etc' }).refused.map((one) => one.path)).toEqual(['services.web.volumes.0'])
    expect(web('network_mode: "${N:-host}"').refused.map((one) => one.path)).toEqual(['services.web.network_mode'])
  })

  test('a merge key and an extended service cannot introduce a refused value', () => {
    const file = read(
      'x-base: &b { privileged: true }\nservices:\n  a: { <<: *b, image: x }\n  base: { image: x, pid: host }\n  c: { extends: base }',
    )
    expect(file.refused.map((one) => one.path)).toEqual(['services.a.privileged', 'services.base.pid', 'services.c.pid'])
  })

  test.each([
    'privileged: false',
    'privileged: "no"',
    'privileged: null',
    'devices: []',
    'sysctls: {}',
    'cap_add: [CHOWN, CAP_SYS_CHROOT, net_bind_service]',
    'security_opt: [apparmor:docker-default]',
    'cgroup_parent: ""',
    'cgroup: null',
  ])('%s is accepted', (fields) => expect(web(fields)).toMatchObject({ refused: [], warnings: [] }))

  test.each([
    ['volumes: { v: { driver_opts: { type: none, o: bind, device: /etc } } }', 'volumes.v.driver_opts'],
    ['volumes: { v: { driver_opts: { type: none, o: "rw,bind", device: ./data } } }', 'volumes.v.driver_opts'],
    ['volumes: { v: { driver_opts: { type: tmpfs, o: bind, device: /etc } } }', 'volumes.v.driver_opts'],
    ['volumes: { v: { driver_opts: { type: ext4, device: /dev/sda1 } } }', 'volumes.v.driver_opts'],
    ['volumes: { v: { driver_opts: { type: nfs, o: "addr=10.0.0.1", device: ":/x" } } }', 'volumes.v.driver_opts'],
    ['volumes: { ../v: }', 'volumes.../v'],
    ['networks: { n: { driver: host } }', 'networks.n.driver'],
    ['networks: { n: { driver: macvlan } }', 'networks.n.driver'],
    ['networks: { n: { external: true, name: host } }', 'networks.n'],
    ['networks: { host: { external: true } }', 'networks.host'],
    ['networks: { n: { external: { name: host } } }', 'networks.n'],
    ['include: [../other.yml]', 'include.0'],
    ['include: [{ path: /etc/x.yml }]', 'include.0'],
  ])('at the top level: %s', (text, path) => {
    expect(read(`services: { a: { image: x } }\n${text}`).refused.map((one) => one.path)).toEqual([path])
  })

  test.each([
    ['secrets: [s]', 'secrets: { s: { file: /etc/shadow } }', 'secrets.s.file'],
    ['secrets: [s]', 'secrets: { s: { file: ../s } }', 'secrets.s.file'],
    ['configs: [c]', 'configs: { c: { file: ~/c } }', 'configs.c.file'],
    ['secrets: [gone]', '', 'services.web.secrets.0'],
  ])('%s with %s', (fields, rest, path) => {
    expect(read(`services:\n  web:\n    image: nginx\n    ${fields}\n${rest}`).refused.map((one) => one.path)).toEqual([path])
  })
})

describe('an invalid file is refused without an exception', () => {
  const doubled = (open: string, close: string) =>
    `a0: &a0 ${open}x: 1${close}\n${Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} ${open}<<: [*a${i}, *a${i}]${close}`).join('\n')}\nservices: { a: { image: x } }`
  test.each([
    ['not YAML', 'services: [', /is not valid YAML: .* \(line 1\)/],
    ['a tab', 'services:\n\ta: 1', /is not valid YAML: .* \(line 2\)/],
    ['a list', '- a', /is not a mapping/],
    ['a word', 'hello', /is not a mapping/],
    ['two documents', 'a: 1\n---\nb: 2', /is not valid YAML/],
    ['a key twice', 'services:\n  a: { image: x }\n  a: { image: y }', /"a" is given twice \(line 3\)/],
    ['an unknown alias', 'services: { a: *gone }', /./],
    ['a mapping as a key', '? { a: b }\n: c\nservices: { a: { image: x } }', /a key can only be a text/],
    ['an alias of itself', 'services: &s { a: { image: x }, b: *s }', /too large or too deep/],
    [
      'a bomb of aliases',
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c]\nservices: { a: { image: x } }`,
      /resource exhaustion/,
    ],
    ['a bomb of merges', doubled('{ ', ' }'), /too large or too deep/],
    ['deep nesting', `services: ${'['.repeat(20_000)}`, /./],
    [
      'deep nesting that closes',
      `services: { a: { image: x, labels: ${'['.repeat(400)}${']'.repeat(400)} } }`,
      /too large or too deep/,
    ],
    ['too large', `# ${'x'.repeat(200_000)}\nservices: { a: { image: x } }`, /larger than 128 KiB/],
    ['empty', '', /has no services/],
    ['no services', 'services: {}', /has no services/],
  ])('%s', (_, text, message) => {
    const file = read(text)
    expect(file.refused.length).toBeGreaterThan(0)
    expect(file.refused[0]!.message).toMatch(message)
  })

  test('services with invalid names or without an image', () => {
    expect(read('services: { "../a": { image: x }, b: { image: x } }')).toMatchObject({
      services: [{ name: 'b' }],
      refused: [{ path: 'services.../a', message: '"../a" is not a valid service name' }],
    })
    expect(read('services: { a: { command: ls } }').refused).toEqual([
      { path: 'services.a', message: 'the service has neither an image nor a build' },
    ])
    expect(read('services: { a: null, b: text }').refused.map((one) => one.path)).toEqual(['services.a', 'services.b'])
  })

  test('custom tags are not evaluated', () => {
    const file = read('services:\n  a: { image: !run "rm -rf" }\n  b: { image: x, command: !!binary aGVsbG8= }')
    expect(file.services[0]!.image).toBe('rm -rf')
    expect(file.services[1]!.command).toBeNull()
    expect(file.refused.map((one) => one.message)).toEqual([
      expect.stringMatching(/Unresolved tag: !run/),
      expect.stringMatching(/has a type that Compose files do not support/),
    ])
  })

  test('a long chain of extends', () => {
    const chain = Array.from({ length: 1000 }, (_, i) => `  s${i}: { image: x, extends: s${i + 1} }`).join('\n')
    expect(read(`services:\n${chain}\n  s1000: { image: x }`).refused[0]!.message).toBe(
      'more than 20 services extend one another',
    )
  })
})
