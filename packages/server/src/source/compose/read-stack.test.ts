// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { expect, test } from 'vitest'
import { readStack } from './read-stack.ts'

const stack = (files: Record<string, string>, more: object = {}) =>
  readStack({
    workingDir: '/srv/shop',
    files: Object.entries(files).map(([path, text]) => ({ path, text })),
    dotEnv: null,
    others: {},
    ...more,
  })

test('a second file is merged over the first', () => {
  const { file } = stack({
    '/srv/shop/compose.yaml': 'services:\n  web: { image: "web:1", ports: ["80:80"], environment: { A: "1", B: "1" } }',
    '/srv/shop/compose.prod.yaml': 'services:\n  web: { image: "web:2", environment: { B: "2" } }\n  db: { image: postgres }',
  })
  expect(file.services).toMatchObject([{ name: 'web', image: 'web:2', environment: { A: '1', B: '2' } }, { name: 'db' }])
})

test('.env provides variables, and paths are relative to the working folder', () => {
  const { file } = stack(
    { '/srv/shop/compose.yaml': 'services:\n  web: { image: "web:${TAG}", volumes: ["./data:/data", "/opt/x:/x:ro"] }' },
    { dotEnv: 'TAG=7\n' },
  )
  expect(file.services[0]).toMatchObject({
    image: 'web:7',
    volumes: [
      { type: 'bind', source: 'srv/shop/data', target: '/data' },
      { type: 'bind', source: 'opt/x', target: '/x', readOnly: true },
    ],
  })
})

test('named files are requested, and used once they are given', () => {
  const files = {
    '/srv/shop/compose.yaml':
      'services:\n  web: { extends: { file: base/common.yaml, service: app }, env_file: web.env, environment: { B: own } }',
  }
  const first = stack(files)
  expect(first.wanted.sort()).toEqual(['/srv/shop/base/common.yaml', '/srv/shop/web.env'])
  const others = {
    '/srv/shop/base/common.yaml': 'services:\n  app: { image: "app:1", restart: always }',
    '/srv/shop/web.env': 'A=from file\nB=from file\n',
  }
  const { file, wanted } = stack(files, { others })
  expect(wanted).toEqual([])
  expect(file.services).toMatchObject([
    { name: 'web', image: 'app:1', restart: { policy: 'always' }, environment: { A: 'from file', B: 'own' } },
  ])
})

test('endless extends are cut off', () => {
  const text = 'services:\n  web: { extends: { file: compose.yaml, service: web }, image: "a" }'
  const { file } = stack({ '/srv/shop/compose.yaml': text }, { others: { '/srv/shop/compose.yaml': text } })
  expect(file.services).toMatchObject([{ name: 'web', image: 'a' }])
})

test('paths in an extended file are relative to that file, and its services may extend others', () => {
  const { file } = stack(
    {
      '/srv/shop/compose.yaml':
        'services:\n  web: { extends: { file: base/common.yaml, service: app }, volumes: ["./own:/own"] }',
    },
    {
      others: {
        '/srv/shop/base/common.yaml': `services:
  root: { environment: { A: root }, build: { dockerfile: app.Dockerfile } }
  app:
    extends: root
    env_file: [app.env, { path: ../shared.env }]
    volumes: ["./data:/data", "../up:/up:ro", "named:/named", "/whole:/whole", { type: bind, source: long, target: /long }]`,
      },
    },
  )
  expect(file.refused).toEqual([])
  expect(file.services).toMatchObject([
    {
      environment: { A: 'root' },
      build: { context: 'srv/shop/base', dockerfile: 'srv/shop/base/app.Dockerfile' },
      envFiles: [{ path: 'srv/shop/base/app.env' }, { path: 'srv/shop/shared.env' }],
      volumes: [
        { source: 'srv/shop/base/data' },
        { source: 'srv/shop/up', readOnly: true },
        { source: 'named' },
        { source: 'whole' },
        { source: 'srv/shop/base/long' },
        { source: 'srv/shop/own' },
      ],
    },
  ])
})

test('an extended file cannot leave the project', () => {
  const text = 'services:\n  web: { image: a, extends: { file: base/more.yaml, service: web } }'
  const others = { '/base/more.yaml': 'services:\n  web: { volumes: ["../../out:/out"] }' }
  const files = [{ path: '/compose.yaml', text }]
  const { file } = readStack({ workingDir: '/', files, dotEnv: null, others }, { folder: '/srv/shop' })
  expect(file.refused).toMatchObject([{ path: 'services.web.volumes.0' }])
})

test('a file that many services extend is read once', () => {
  const names = ['a', 'b', 'c']
  const text = `services:\n${names.map((name) => `  ${name}: { extends: { file: more.yaml, service: a }, image: "a" }\n`).join('')}`
  let reads = 0
  const others = {
    get '/srv/shop/more.yaml'() {
      reads += 1
      return text
    },
  }
  const { file } = stack({ '/srv/shop/compose.yaml': text }, { others })
  expect(file.services.map(({ name }) => name)).toEqual(names)
  expect(reads).toBe(1)
})

test('a mapping as the name of the extended service is refused', () => {
  const text = 'services:\n  web: { image: a, extends: { file: more.yaml, service: { toString: x } } }'
  const { file } = stack({ '/srv/shop/compose.yaml': text }, { others: { '/srv/shop/more.yaml': text } })
  expect(file.services).toMatchObject([{ name: 'web', image: 'a' }])
  expect(file.refused).toMatchObject([{ path: 'services.web.extends' }])
})

test('exponential aliases are one refusal', () => {
  const lines = ['a: &a [x, x, x, x, x, x, x, x, x]']
  for (let at = 1; at < 9; at += 1)
    lines.push(
      `a${at}: &a${at} [${Array(9)
        .fill(`*a${at > 1 ? at - 1 : ''}`)
        .join(', ')}]`,
    )
  const { file } = stack({ '/srv/shop/compose.yaml': `${lines.join('\n')}\nservices: { web: { image: a, command: *a8 } }` })
  expect(file.refused.length).toBeGreaterThan(0)
})
