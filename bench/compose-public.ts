// node bench/compose-public.ts <folder> [--only=name,name]: each subfolder holds a Compose file and the files that it refers to.
// Deploys each file unchanged on Docker, and compares the output of `docker compose config` with that of `docker
// inspect`. Every difference has to be announced: in the log of the deployment, by the refusal of the deployment, or as a rule
// for all projects in docs/compose.md. Ends with 1 where one is silent. Images are stand-ins, except for databases, which are
// real; digests are removed from image names.
import { existsSync, readFileSync } from 'node:fs'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { openEngine } from '../packages/server/src/drivers/runtime/docker/engine.ts'
import { type Hosting, isOver, startHosting } from '../tests/kit/hosting.ts'
import { partOf } from '../tests/kit/machine.ts'
import { type Difference, differencesOf, isExcluded, type RunningService } from './kit/compose-differences.ts'
import { type WrittenFile, writtenIn } from './kit/compose-expected.ts'
import { StandIns } from './kit/stand-in.ts'
import { table } from './kit/table.ts'

const [folder = '', ...words] = process.argv.slice(2)
const only = words
  .find((word) => word.startsWith('--only='))
  ?.slice(7)
  .split(',')
const fileNames = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml']
const engine = openEngine(partOf('docker'))
const rows: (string | number)[][] = []
const problems: string[] = []
let tool = ''
await using hosting = await startHosting({ runtime: 'docker' })
await using images = new StandIns()
for (const name of (await readdir(folder)).sort()) {
  if (only && !only.includes(name)) continue
  try {
    rows.push([name, ...(await deployAndCompare(name, hosting))])
  } catch (error) {
    problems.push(`${name}: ${(error as Error).message.slice(0, 800)}`)
    console.log(`\n## ${problems.at(-1)}`)
  }
}
console.log(`\n${table(['file', 'services', 'result', 'compared', 'differ', 'announced', 'silent'], rows)}`)
console.log(
  `${rows.length} files, read by ${tool}; ${problems.length === 0 ? 'no difference is silent' : `problems:\n${problems.join('\n')}`}`,
)
process.exitCode = problems.length === 0 && rows.length > 0 ? 0 : 1

async function deployAndCompare(
  name: string,
  { makeProject, deploy, deployment, settled, api, folder: sources }: Hosting,
): Promise<(string | number)[]> {
  const source = join(sources, name)
  await cp(resolve(folder, name), source, { recursive: true })
  const file = fileNames.find((one) => existsSync(join(source, one)))
  if (!file) throw new Error('no Compose file')
  await withoutDigests(join(source, file))
  const written = await writtenIn(source, file)
  tool = written.tool
  for (const { image } of Object.values(written.services)) if (image) await images.provide(image)
  const project = await makeProject({ name, localPath: source, composePath: file, healthCheck: { timeoutSeconds: 120 } })
  const id = await deploy(project.id)
  const ended = await settled(id).catch(() => settled(id))
  const log = linesOf((await api('GET', `/deployments/${id}/logs`)).body)
  const count = Object.values(written.services).filter((one) => !isExcluded(one)).length
  try {
    if (ended.status === 'live') return await compareWithRunning(name, written, project.id, log, count)
    const message = ended.error?.message ?? ''
    if (ended.error?.code !== 'plan_failed' || !/, line \d+: /.test(message))
      throw new Error(`${ended.status}: ${message}\n${log.slice(-15).join('\n')}`)
    console.log(
      `\n## ${name}: refused\n\n${message
        .split('; ')
        .map((one) => `- ${one}`)
        .join('\n')}`,
    )
    return [count, 'refused', 0, message.split(/, line \d+: /).length - 1, message.split(/, line \d+: /).length - 1, 0]
  } finally {
    const done = await deployment(id)
    if (!isOver(done)) await settled(id)
    await api('DELETE', `/projects/${project.id}?force=true&deleteVolumes=true`)
  }
}

async function compareWithRunning(
  name: string,
  written: WrittenFile,
  projectId: string,
  log: string[],
  count: number,
): Promise<(string | number)[]> {
  const running = await runningOf(projectId, written)
  const internal = new Set((await engine.listNetworks()).filter(({ Internal }) => Internal).map(({ Name }) => Name))
  const { compared: comparedCount, differences } = await differencesOf(written, running, (network) => internal.has(network))
  const silent = differences.filter((one) => announcementOf(one, log) === null)
  console.log(`\n## ${name}: live\n`)
  for (const one of differences)
    console.log(
      `- ${one.service} ${one.field}: ${one.written.slice(0, 100)} → ${one.runs.slice(0, 100)}: ${announcementOf(one, log)?.slice(0, 200) ?? 'SILENT'}`,
    )
  for (const one of silent)
    problems.push(`${name}: ${one.service} ${one.field}: ${one.written.slice(0, 200)} → ${one.runs.slice(0, 200)}`)
  return [count, 'live', comparedCount, differences.length, differences.length - silent.length, silent.length]
}

async function runningOf(projectId: string, { services }: WrittenFile): Promise<Map<string, RunningService>> {
  const filters = { label: [`berth.project=${projectId}`, 'berth.kind=instance'] }
  const rows = await engine.listContainers({ all: true, filters })
  const all = await Promise.all(rows.map(({ Id }) => engine.getContainer(Id).inspect()))
  const running = new Map<string, RunningService>()
  for (const [service, containers] of Map.groupBy(all, ({ Config }) => Config.Labels['berth.service'] ?? '')) {
    const image = await engine.getImage(containers[0]!.Image).inspect()
    running.set(service, { containers, image, named: await engine.getImage(services[service]?.image).inspect() })
  }
  return running
}

/** The rule for all projects that explains a difference, by a sentence of docs/compose.md. */
function ruleFor({ field, runs }: Difference): string | null {
  const rules: [boolean, string][] = [
    [field.startsWith('ports '), 'nothing is published on the machine itself'],
    [field === 'environment PORT', '`PORT`'],
    [field.startsWith('environment BERTH_'), '`BERTH_VOLUME_'],
    [field.startsWith('volumes ') && runs === 'null', 'become a layer on the image'],
  ]
  const sentence = rules.find(([holds]) => holds)?.[1]
  const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'compose.md'), 'utf8')
  return sentence && page.includes(sentence) ? `docs/compose.md: ${sentence}` : null
}

/** The log line that announces the difference: it names the service and the field, or several services and what they get. */
function announcementOf(one: Difference, log: readonly string[]): string | null {
  const field = one.field.split(' ')[0]!
  const names = (line: string) => new RegExp(`(^|[ :,])${one.service}[,:]`).test(line)
  const found = log.find((line) => {
    if (line.includes(`services.${one.service}.${field}`)) return true
    if (field === 'mem_limit') return names(line) && line.includes('MB of memory each')
    return field === 'cpus' && names(line) && line.includes('CPU each')
  })
  return found ?? ruleFor(one)
}

function linesOf(body: { data?: { message: string }[] } | { message: string }[]): string[] {
  return (Array.isArray(body) ? body : (body.data ?? [])).map(({ message }) => message)
}

/** An image built locally cannot be given a digest. */
async function withoutDigests(file: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace(/@sha256:[0-9a-f]{64}/g, ''))
}
