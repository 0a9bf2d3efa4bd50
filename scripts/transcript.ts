import { spawn } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { startBerth } from '../tests/kit/start-berth.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { firstHour, type Step } from './transcript/first-hour.ts'
import { neutral } from './transcript/neutral.ts'

/**
 * npm run transcript: runs the commands of a new user's first hour on the built product, and writes them with their output into
 * docs/cli.md. Values that differ between machines (ports, ids, paths, times) are replaced by fixed ones.
 */
const root = join(import.meta.dirname, '..')
const page = join(root, 'docs', 'cli.md')
const launcher = join(root, 'packages', 'cli', 'bin', 'berth.js')
const marks = ['<!-- first hour: made by npm run transcript -->', '<!-- end of the first hour -->'] as const

const folder = await tempFolder('transcript')
try {
  await using berth = await startBerth({ env: { BERTH_RUNTIME: 'process', BERTH_LOG_LEVEL: 'warn' } })
  const home = join(folder.path, 'home')
  const app = join(folder.path, 'hello')
  await mkdir(home)
  // Leaves out `.berth`, which links the folder to a project if the example was deployed before.
  await cp(join(root, 'examples', 'node'), app, { recursive: true, filter: (path) => basename(path) !== '.berth' })
  const tidy = neutral({
    url: berth.url,
    edgeUrl: berth.edgeUrl,
    folders: { [app]: '~/hello', [home]: '~', [berth.dataFolder]: '~/.berth' },
  })
  const env = {
    ...{ PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, '.config'), BERTH_URL: berth.url },
    ...{ NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS },
  }
  const parts: string[] = []
  for (const step of firstHour(setUpLink(berth.output()))) {
    if (step.prepare) await step.prepare(app)
    const { code, output } = step.command ? await run(step, app, env) : { code: 0, output: berth.output() }
    const wanted = step.fails ? code !== 0 : code === 0
    if (!wanted) throw new Error(`${step.shown} ended with ${code}:\n${output}`)
    parts.push(`${step.message}\n\n\`\`\`console\n$ ${tidy(step.shown)}\n${tidy(output).trimEnd()}\n\`\`\``)
  }
  await write(parts.join('\n\n'))
  console.log(`${parts.length} commands, written into docs/cli.md`)
} finally {
  await folder.remove()
}

function setUpLink(output: string): string {
  return /set up \(once\)\s+(\S+)/.exec(output)?.[1] ?? ''
}

/** Both outputs as a terminal would show them. */
function run(
  { command = [], input = '' }: Step,
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [launcher, ...command], { cwd, env })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    child.once('error', reject).once('close', (code) => resolve({ code, output }))
    child.stdin.end(input)
  })
}

async function write(text: string): Promise<void> {
  const before = await readFile(page, 'utf8')
  const [from, to] = marks.map((mark) => before.indexOf(mark)) as [number, number]
  if (from < 0 || to < from) throw new Error('docs/cli.md has lost the marks of its transcript')
  await writeFile(page, `${before.slice(0, from)}${marks[0]}\n\n${text}\n\n${before.slice(to)}`)
}
