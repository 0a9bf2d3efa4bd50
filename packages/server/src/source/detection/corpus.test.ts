// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { describe, expect, test } from 'vitest'
import type { CorpusCase } from '../../../tests/detection/corpus/corpus.ts'
import { languages } from '../../../tests/detection/corpus/languages.ts'
import { monorepos } from '../../../tests/detection/corpus/monorepos.ts'
import { otherHosts } from '../../../tests/detection/corpus/other-hosts.ts'
import { pages } from '../../../tests/detection/corpus/pages.ts'
import { servers } from '../../../tests/detection/corpus/servers.ts'
import { starters } from '../../../tests/detection/corpus/starters.ts'
import { detectFolder } from './detect-folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

const corpus: Record<string, readonly CorpusCase[]> = {
  pages,
  servers,
  languages,
  'other hosts': otherHosts,
  monorepos,
  starters,
}

describe.each(Object.entries(corpus))('%s', (_, cases) => {
  test.each(cases)('$name', async ({ files, is }) => {
    expect(await detectFolder(await temporaryFolder(files))).toMatchObject(is)
  })
})

test('unsupported settings in files of other hosts are warnings', async () => {
  const { warnings } = await detectFolder(
    await temporaryFolder({
      'package.json': { scripts: { start: 'node a.js' } },
      'vercel.json': { crons: [{ path: '/x', schedule: '0 0 * * *' }] },
      'render.yaml': 'databases:\n  - name: db\nservices:\n  - type: web\n    name: api\n  - type: cron\n    name: n\n',
    }),
  )
  expect(warnings.join('\n')).toMatch(
    /vercel\.json: its cron job is not created\. Add .*berth cron add job-1 --schedule '0 0 \* \* \*' -- curl .*\/x/,
  )
  expect(warnings.join('\n')).toMatch(/render\.yaml: cron jobs are ignored/)
  expect(warnings.join('\n')).toMatch(/render\.yaml: databases are ignored/)
})

test('a service that extends one of another file of the project includes its settings', async () => {
  const { services } = await detectFolder(
    await temporaryFolder({
      Dockerfile: 'FROM scratch\n',
      'compose.yaml': 'services:\n  web:\n    build: .\n    extends: { file: common.yaml, service: base }\n',
      'common.yaml': 'services:\n  base:\n    ports: ["8080:80"]\n    extends: { file: deeper.yaml, service: root }\n',
      'deeper.yaml': 'services:\n  root:\n    environment: { A: b }\n',
    }),
  )
  expect(services).toMatchObject([{ name: 'web', ports: [80], environment: { A: 'b' } }])
})

test('a variable used several times in a Compose file is reported once', async () => {
  const { warnings, refused } = await detectFolder(
    await temporaryFolder({
      Dockerfile: 'FROM scratch\n',
      'compose.yaml':
        'services:\n  web:\n    build: .\n    environment: ["A=${GONE}", "B=${GONE}", "C=${KEY?}", "D=${KEY?}"]\n    labels: ["x=${KEY?}"]\n',
    }),
  )
  expect(warnings).toEqual([
    'compose.yaml, line 4: services.web.environment.2: the variable KEY must be set',
    'compose.yaml, line 4: services.web.environment.0: the variable GONE is not set; an empty text is used',
  ])
  expect(refused).toHaveLength(1)
})
