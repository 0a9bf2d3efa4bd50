import { readCompose, toProjectServices } from '../../packages/server/src/source/compose/index.ts'
import type { Random } from './random.ts'
import { type Fuzzed, fuzzByHand } from './runner.ts'
import { hostileText } from './texts.ts'

const pieces = [
  'services:\n',
  '  a:\n',
  '  b: ',
  '    image: x\n',
  '    build: .\n',
  '    extends: a\n',
  '    extends: { service: b }\n',
  '{',
  '}',
  '[',
  ']',
  ', ',
  ': ',
  '- ',
  '\n',
  '  ',
  '    ',
  '&a ',
  '*a',
  '<<: *a\n',
  '? ',
  '| \n',
  '"',
  "'",
  '$A',
  '${A:-',
  '${A:?',
  '}',
  '$$',
  'volumes: ',
  './d:/d',
  '/:/x',
  'ports: ',
  '"1-100:1-100"',
  'environment: ',
  'depends_on: ',
  'networks: ',
  'healthcheck: ',
  'interval: 1m1s',
  'deploy: ',
  'labels: ',
  'env_file: ',
  'privileged: true',
  '!!binary x',
  '!x ',
  '#',
  '---\n',
  '0x1',
  'null',
  '~',
  'x-a: ',
  '__proto__: ',
  'links: ',
  'command: ',
]
const harmless = `services:
  web: &web { build: ., ports: ["80:3000"], environment: { A: "\${A:-x}" }, depends_on: [db], volumes: ["d:/d", "./x:/x:ro"] }
  db: { image: "postgres:17", healthcheck: { test: [CMD, x], interval: 10s }, deploy: { resources: { limits: { memory: 1g } } } }
  other: { <<: *web, extends: { service: db }, networks: { n: { aliases: [q] } } }
volumes: { d: { driver_opts: { type: tmpfs } } }
networks: { n: { external: true } }
secrets: { s: { file: ./s } }
`

export const kinds: Fuzzed[] = [
  {
    name: 'compose',
    make: (random: Random): string =>
      random.chance(0.5) ? random.mutated(random.mutated(harmless, pieces), pieces) : hostileText(random, pieces),
    check: (text: string) => {
      const file = readCompose(text, { folder: '/srv/shop', env: { A: 'v'.repeat(1000) } })
      const { services } = toProjectServices(file)
      for (const { volumes = [], build } of services)
        for (const path of [...volumes.filter(({ type }) => type === 'bind').map(({ source }) => source), build?.context])
          if (path?.startsWith('/') || path?.split('/')[0] === '..') throw new Error(`${path} is outside`)
      if (services.length === 0 && file.services.length === 0 && file.refused.length === 0)
        throw new Error('neither read nor refused')
      if (JSON.stringify(file).length > 20 * text.length + 4_000_000) throw new Error('the model is too large for its file')
    },
    slowMs: 1_500,
  },
] as Fuzzed[]

if (import.meta.main) await fuzzByHand('compose-files', kinds)
