import { mkdirSync, writeFileSync } from 'node:fs'
import fs from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { callsOf } from '../../../../../tests/kit/count-work.ts'
import { detectFolder } from './detect-folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

// `bench/detection.ts` compares the duration with that of a plain walk of the folder.
test('scanning reads every folder once and opens few files', async () => {
  const folder = await temporaryFolder({
    'package.json': { name: 'large', dependencies: { express: '4' }, scripts: { start: 'node .' } },
  })
  // None of these folders is one that is skipped, and none is too deep: 1 + 1 + 10 + 20 + 200 of them.
  for (let index = 0; index < 200; index++) {
    const location = join(folder, 'src', `area-${index % 10}`, `part-${index % 4}`, `module-${index}`)
    mkdirSync(location, { recursive: true })
    for (let file = 0; file < 10; file++)
      writeFileSync(join(location, `file-${file}.${['ts', 'go', 'py', 'json'][file % 4]}`), '')
  }
  let listings: unknown[][] = []
  const opened = await callsOf(fs, 'open', async () => {
    listings = await callsOf(fs, 'readdir', async () => {
      const detection = await detectFolder(folder)
      expect([detection.framework, detection.warnings]).toEqual([
        'express',
        ['there is no lockfile of npm; two installs may differ'],
      ])
    })
  })
  const folders = listings.map(([path]) => String(path))
  expect([new Set(folders).size, folders.length]).toEqual([232, 232])
  expect(opened.length).toBeGreaterThan(0)
  expect(opened.length).toBeLessThan(20)
})
