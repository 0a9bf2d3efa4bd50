import type { Folder } from './folder.ts'
import { clip } from './signs.ts'
import type { App, Plan } from './stack.ts'

/** The processes of a Procfile by name; `null` when there is none. */
export const readProcfile = async (folder: Folder): Promise<Map<string, string> | null> => {
  const text = await folder.text('Procfile')
  const lines = text?.matchAll(/^([A-Za-z0-9_-]{1,60}):[ \t]*([^\r\n]{1,2000})/gm)
  return lines ? new Map([...lines].map(([, name, command]) => [name!, command!.trim()])) : null
}

/** Applies the Procfile: its `web` or `worker` line is the start command. */
export async function applyProcfile({ folder }: App, plan: Plan): Promise<Plan> {
  const lines = plan.type === 'app' || plan.type === 'worker' ? await readProcfile(folder) : null
  if (lines === null) return plan
  const name = lines.has('web') ? 'web' : lines.has('worker') ? 'worker' : null
  if (name === null) return plan
  const others = [...lines.keys()].filter((one) => one !== name)
  return {
    ...plan,
    type: name === 'web' ? 'app' : 'worker',
    port: name === 'web' ? plan.port : null,
    startCommand: builtProgram(lines.get(name)!, plan),
    evidence: [
      ...(plan.evidence ?? []),
      { file: folder.full('Procfile'), says: `${name} is started by ${clip(lines.get(name)!)}` },
    ],
    warnings: [
      ...(plan.warnings ?? []).filter((warning) => !warning.startsWith('no start command was found')),
      ...(others.length > 0 ? [`Procfile: only ${name} is started, not ${others.slice(0, 10).join(', ')}`] : []),
    ],
  }
}

/** Resolves a program that the build puts into `bin`, which Heroku finds by name. */
function builtProgram(line: string, { startCommand }: Plan): string {
  const [program = ''] = line.split(/\s/, 1)
  return startCommand === `./bin/${program.replace(/^(?:\.\/)?bin\//, '')}` ? startCommand + line.slice(program.length) : line
}
