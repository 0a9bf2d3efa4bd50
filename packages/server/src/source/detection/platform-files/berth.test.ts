import { expect, test } from 'vitest'
import { detectFolder } from '../detect-folder.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const npm = (name: string) => ({ name, scripts: { start: 'node index.js' } })
const list = {
  projects: [
    { name: 'web', rootDirectory: './apps/web/', startCommand: 'node web.js', port: 3001, healthCheck: { path: '/up' } },
    { name: 'api', rootDirectory: 'apps/api', startCommand: 'node api.js' },
  ],
}

test.each([
  ['apps/web', { startCommand: 'node web.js', port: 3001, healthPath: '/up' }],
  ['apps/api', { startCommand: 'node api.js' }],
  ['apps/other', { startCommand: 'node index.js' }],
])('a berth.json with several projects: %s uses its own entry', async (rootDirectory, expected) => {
  const folder = await temporaryFolder({
    'berth.json': list,
    'apps/web/package.json': npm('web'),
    'apps/api/package.json': npm('api'),
    'apps/other/package.json': npm('other'),
  })
  expect(await detectFolder(folder, { rootDirectory })).toMatchObject(expected)
})
