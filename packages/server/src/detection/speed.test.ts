import { mkdirSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { detectFolder } from './detect-folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** What any program has to do to see all names. */
async function walk(folder: string): Promise<number> {
  let count = 0
  for (const entry of await readdir(folder, { withFileTypes: true }))
    count += entry.isDirectory() ? await walk(join(folder, entry.name)) : 1
  return count
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

test('scanning a folder of 20,000 files takes no longer than 4 × a plain directory walk of it', async () => {
  const folder = await temporaryFolder({
    'package.json': { name: 'large', dependencies: { express: '4' }, scripts: { start: 'node .' } },
  })
  // None of these folders is one that is skipped, and none is too deep.
  for (let index = 0; index < 200; index++) {
    const place = join(folder, 'src', `area-${index % 10}`, `part-${index % 4}`, `module-${index}`)
    mkdirSync(place, { recursive: true })
    for (let file = 0; file < 100; file++) writeFileSync(join(place, `file-${file}.${['ts', 'go', 'py', 'json'][file % 4]}`), '')
  }
  expect(await walk(folder)).toBe(20_001)
  const walks: number[] = []
  const scans: number[] = []
  for (let round = 0; round < 7; round++) {
    walks.push(await milliseconds(() => walk(folder)))
    scans.push(await milliseconds(() => detectFolder(folder)))
  }
  const detection = await detectFolder(folder)
  expect([detection.framework, detection.warnings]).toEqual(['express', ['there is no lockfile of npm; two installs may differ']])
  expect(Math.min(...scans) / Math.min(...walks)).toBeLessThan(4)
})
