import { spawn } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'

interface Action {
  inputs: Record<string, { default?: string; required?: boolean }>
  outputs: Record<string, { value: string }>
  runs: { steps: { id?: string; name: string; run: string; shell: string; env?: Record<string, string> }[] }
}

export interface ActionRun {
  code: number
  log: string
  outputs: Record<string, string>
}

/** Runs the shell steps of a composite action as GitHub's runner does: inputs and outputs are the only expressions it may use. */
export async function runAction(
  file: string,
  inputs: Record<string, string>,
  { workspace, temp, env }: { workspace: string; temp: string; env: Record<string, string> },
): Promise<ActionRun> {
  const action = parse(await readFile(file, 'utf8')) as Action
  for (const [name, { required }] of Object.entries(action.inputs))
    if (required && inputs[name] === undefined) throw new Error(`the input ${name} is missing`)
  await mkdir(temp, { recursive: true })
  const outputsOf: Record<string, Record<string, string>> = {}
  const expand = (text: string): string =>
    text.replace(
      /\$\{\{ *(inputs|steps)\.([\w-]+)(?:\.outputs\.([\w-]+))? *\}\}/g,
      (_, kind: string, name: string, output = '') =>
        kind === 'inputs' ? (inputs[name] ?? action.inputs[name]?.default ?? '') : (outputsOf[name]?.[output] ?? ''),
    )
  let log = ''
  for (const [at, step] of action.runs.steps.entries()) {
    const output = join(temp, `output-${at}`)
    await writeFile(output, '')
    const settings = Object.fromEntries(Object.entries(step.env ?? {}).map(([name, value]) => [name, expand(value)]))
    const { code, text } = await runStep(expand(step.run), workspace, {
      ...env,
      ...settings,
      RUNNER_TEMP: temp,
      GITHUB_OUTPUT: output,
    })
    log += text
    if (code !== 0) return { code, log, outputs: {} }
    const lines = (await readFile(output, 'utf8')).split('\n').filter((line) => line.includes('='))
    if (step.id)
      outputsOf[step.id] = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
      )
  }
  const outputs = Object.fromEntries(Object.entries(action.outputs).map(([name, { value }]) => [name, expand(value)]))
  return { code: 0, log, outputs }
}

const runStep = (script: string, cwd: string, env: Record<string, string>): Promise<{ code: number; text: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 120_000 })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk))
    child.on('error', reject).on('close', (code) => resolve({ code: code ?? 1, text }))
  })
