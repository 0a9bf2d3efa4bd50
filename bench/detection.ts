import { mkdirSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { detectFolder } from '../packages/server/src/source/detection/detect-folder.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { ratio, table } from './kit/table.ts'

/**
 * node bench/detection.ts: compares scanning a folder of 20,000 files with a plain walk of it. Fails if it takes more than 4 × as
 * long.
 */
const limit = 4
await using place = await tempFolder('detection')
writeFileSync(
  join(place.path, 'package.json'),
  JSON.stringify({ name: 'large', dependencies: { express: '4' }, scripts: { start: 'node .' } }),
)
for (let index = 0; index < 200; index++) {
  const folder = join(place.path, 'src', `area-${index % 10}`, `part-${index % 4}`, `module-${index}`)
  mkdirSync(folder, { recursive: true })
  for (let file = 0; file < 100; file++) writeFileSync(join(folder, `file-${file}.${['ts', 'go', 'py', 'json'][file % 4]}`), '')
}

const walks: number[] = []
const scans: number[] = []
for (let round = 0; round < 7; round++) {
  walks.push(await milliseconds(() => walk(place.path)))
  scans.push(await milliseconds(() => detectFolder(place.path)))
}
// Other processes use the machine as well: the fastest of each shows the cost.
const [walked, scanned] = [Math.min(...walks), Math.min(...scans)]
console.log(table(['walk ms', 'scan ms', 'ratio'], [[walked, scanned, ratio(scanned, walked)]]))
if (scanned > limit * walked) process.exitCode = 1

/** Counts the files by listing every folder: the minimum work to see all file names. */
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
