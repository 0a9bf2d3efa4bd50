import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { emptyPlan } from '../packages/server/src/drivers/runtime/build-plan.ts'
import { createProcessRuntime } from '../packages/server/src/drivers/runtime/process/process-runtime.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { megabytes, table } from './kit/table.ts'

/**
 * node bench/project-tools.ts: installs Node and package managers in the versions that projects require, each twice: first from npm's
 * configured registry, then from the cache. Exits with 1 unless each one reports the required version.
 */
const requested: [tool: string, range: string, says: RegExp][] = [
  ['node', '22', /^v22\./],
  ['node', '20', /^v20\./],
  ['npm', '10', /^10\./],
  ['pnpm', '9.15.0', /^9\.15\.0$/],
  ['pnpm', '8', /^8\./],
  ['yarn', '1', /^1\./],
  ['yarn', '4', /^4\./],
  ['bun', '>=1.2 <2', /^1\./],
  ['deno', '2', /^deno 2\./],
]
const resources = { cpuCores: 2, memoryMb: 1024, diskMb: 2048 }

await using place = await tempFolder('project-tools')
const folder = join('/tmp', `berth-project-tools-${process.pid}`)
await mkdir(join(place.path, 'source'))
await writeFile(join(place.path, 'source', 'package.json'), '{"private":true}')
const runtime = createProcessRuntime({ folder, environment: process.env })
const rows: (string | number)[][] = []
let failed = 0
try {
  for (const [tool, range, says] of requested) {
    const took: number[] = []
    let lines: string[] = []
    for (const round of ['fetched', 'kept']) {
      const begun = performance.now()
      lines = await build(tool, range, `${rows.length}${round}`)
      took.push((performance.now() - begun) / 1000)
    }
    const version = lines.find((line) => says.test(line))
    if (!version) failed += 1
    rows.push([
      `${tool} ${range}`,
      version ?? `NOT: ${lines.at(-1)}`,
      took[0] ?? 0,
      took[1] ?? 0,
      megabytes(await sizeOf(tool, version)),
    ])
  }
} finally {
  await runtime.close()
  await rm(folder, { recursive: true, force: true })
}
console.log(runtime.isolation.message)
console.log(table(['asked for', 'says', 'fetched, s', 'kept, s', 'size'], rows))
process.exitCode = failed === 0 ? 0 : 1

async function build(tool: string, range: string, name: string): Promise<string[]> {
  const lines: string[] = []
  const isNode = tool === 'node'
  const plan = {
    ...emptyPlan,
    language: 'javascript',
    packageManager: isNode ? null : tool,
    runtimeVersion: { [tool]: range },
    buildCommand: `${tool} --version`,
    port: 3000,
  }
  const owner = { projectId: 'prj_bench', deploymentId: `dep_${name}`, environment: 'production' }
  const request = {
    owner,
    service: '',
    sourceFolder: join(place.path, 'source'),
    plan,
    secrets: {},
    resources,
    timeoutMs: 120_000,
  }
  await runtime
    .build(request, ({ message }) => lines.push(message), new AbortController().signal)
    .catch((error: Error) => lines.push(error.message))
  return lines
}

async function sizeOf(tool: string, says: string | undefined): Promise<number> {
  const version = /\d+\.\d+\.\d+/.exec(says ?? '')?.[0]
  const note = await readFile(join(folder, 'tools', `${tool}-${version}`, 'tool.json'), 'utf8').catch(() => '{"sizeBytes":0}')
  return (JSON.parse(note) as { sizeBytes: number }).sizeBytes
}
