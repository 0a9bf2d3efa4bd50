import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openEngine } from '../packages/server/src/drivers/runtime/docker/engine.ts'
import { startHosting } from '../tests/kit/hosting.ts'
import { partOf } from '../tests/kit/machine.ts'
import { table } from './kit/table.ts'

/**
 * node bench/docker-disk.ts [deployments=20]: prints the disk use of the Docker engine (`docker system df`) before, during and after
 * the given number of deployments of a multi-stage project, and after its deletion. Exits with 1 if the use has grown by more than
 * 5 %. The use counts everything on the engine, so run it on an engine that has no other users.
 */
const count = Number(process.argv[2] ?? 20)
const mb = (bytes: number) => (bytes / 1e6).toFixed(1)

interface Use {
  LayersSize?: number
  Images?: unknown[] | null
  BuildCache?: { Size: number; Shared: boolean }[] | null
}
const engine = openEngine(partOf('docker'))
const measure = async () => {
  const { LayersSize = 0, Images, BuildCache } = (await engine.df()) as Use
  const cache = (BuildCache ?? []).reduce((sum, { Size, Shared }) => sum + (Shared ? 0 : Size), 0)
  return { images: Images?.length ?? 0, layers: LayersSize, records: BuildCache?.length ?? 0, cache, all: LayersSize + cache }
}
type Measured = Awaited<ReturnType<typeof measure>>
const rows: (readonly [string, ...(string | number)[]])[] = []
const note = (when: string, { images, layers, records, cache, all }: Measured) =>
  rows.push([when, images, mb(layers), records, mb(cache), mb(all)])

await using hosting = await startHosting({ runtime: 'docker' })
const source = join(hosting.folder, 'app')
await mkdir(source)
await writeFile(
  join(source, 'Dockerfile'),
  `FROM ${partOf('nodeImage')} AS build
COPY . /source
RUN head -c 10000000 /dev/urandom > /made
FROM ${partOf('nodeImage')} AS test
RUN exit 1
FROM ${partOf('nodeImage')}
COPY --from=build /made /made
COPY server.js /server.js
USER 1000
CMD ["node", "/server.js"]
`,
)
await writeFile(join(source, 'server.js'), "require('http').createServer((_, out) => out.end('up')).listen(process.env.PORT)")
const before = await measure()
note('before', before)
const { id } = await hosting.makeProject({ name: 'Disk', localPath: source })
for (let at = 1; at <= count; at += 1) {
  await writeFile(join(source, 'data.bin'), Buffer.alloc(5_000_000, String(at)))
  const { status, error } = await hosting.settled(await hosting.deploy(id))
  if (status !== 'live') throw new Error(`deployment ${at} is ${status}: ${error?.message}`)
  if (at === 1 || at % 5 === 0) note(`after ${at}`, await measure())
}
const deleted = await hosting.api('DELETE', `/projects/${id}`)
if (deleted.status >= 300) throw new Error(`the deletion was answered with ${deleted.status}`)
const after = await measure()
note('deleted', after)
console.log(table(['', 'images', 'layers MB', 'cache records', 'cache MB', 'all MB'], rows))
const left = (after.all - before.all) / before.all
console.log(`\nleft after ${count} deployments and the deletion: ${(left * 100).toFixed(2)} %`)
process.exitCode = Math.abs(left) <= 0.05 ? 0 : 1
