// One backup or restore in its own process, so that its memory can be measured separately.
//   backup-round.ts backup FOLDER DESTINATION KEY     also writes DESTINATION/index.json
//   backup-round.ts restore FOLDER DESTINATION KEY
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ArchiveIndex } from '../../packages/server/src/drivers/archive/archive.ts'
import { createArchives } from '../../packages/server/src/drivers/archive/create-archives.ts'
import { readOrCreateIdentity } from '../../packages/server/src/drivers/archive/instance-key.ts'
import { createArchiveStores } from '../../packages/server/src/drivers/archive-store/create-archive-stores.ts'
import { packVolume, replaceVolumeContent } from '../../packages/server/src/drivers/runtime/process/files/volume-archive.ts'
import { silentLog } from '../../packages/server/src/platform/log.ts'

const [what, folder, destination, keyFile] = process.argv.slice(2) as [string, string, string, string]
const abort = new AbortController().signal
const { identity } = await readOrCreateIdentity(keyFile)
const archives = await createArchives({ identities: [identity] })
const stores = createArchiveStores({ log: silentLog, allowPrivate: true })
const store = await stores.open({ kind: 'local', root: destination, path: destination })
const indexFile = join(destination, 'index.json')

global.gc?.()
// The peak is counted from here.
writeFileSync('/proc/self/clear_refs', '5')
const before = process.memoryUsage().rss
let maxBlockLength = 0
const watch = watchLoop()
const start = performance.now()
const extra = what === 'backup' ? await backUp() : await restore()
const ms = performance.now() - start
watch.end()
const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]) * 1024
console.log(JSON.stringify({ ms, extraMb: (peak - before) / 1024 ** 2, maxBlockMs: maxBlockLength, ...extra }))
await archives.close()

async function backUp() {
  const index = await archives.write(packVolume(folder, { environment: process.env, abort }), {
    store,
    base: 'bench/data',
    extension: 'tar',
    abort,
  })
  const writtenMs = performance.now() - start
  await archives.verify(index, { store, abort })
  writeFileSync(indexFile, JSON.stringify(index))
  return { writtenMs, plainBytes: index.plainBytes, sizeBytes: index.sizeBytes, parts: index.parts.length }
}

async function restore() {
  const index = JSON.parse(readFileSync(indexFile, 'utf8')) as ArchiveIndex
  mkdirSync(folder, { recursive: true })
  const paths = { folder, staging: `${folder}.staging`, trash: `${folder}.trash` }
  await replaceVolumeContent(paths, archives.read(index, { store, abort }), abort)
  return { plainBytes: index.plainBytes }
}

/** The longest time that a request to this process would have waited. */
function watchLoop() {
  let isOn = true
  const run = async () => {
    for (let last = performance.now(); isOn; last = performance.now()) {
      await pause(5)
      maxBlockLength = Math.max(maxBlockLength, performance.now() - last - 5)
    }
  }
  void run()
  return {
    end() {
      isOn = false
    },
  }
}
