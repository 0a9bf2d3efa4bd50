import { clip } from './signs.ts'
import type { App, Plan } from './stack.ts'

/** The plan as a Procfile has it: its lines are what somebody wrote down to be started. */
export async function followProcfile({ folder }: App, plan: Plan): Promise<Plan> {
  const text = plan.type === 'app' || plan.type === 'worker' ? await folder.text('Procfile') : null
  if (text === null) return plan
  const lines = new Map(
    [...text.matchAll(/^([A-Za-z0-9_-]{1,60}):[ \t]*([^\r\n]{1,2000})/gm)].map(([, name, command]) => [name!, command!.trim()]),
  )
  const name = lines.has('web') ? 'web' : lines.has('worker') ? 'worker' : null
  if (name === null) return plan
  const others = [...lines.keys()].filter((one) => one !== name)
  return {
    ...plan,
    type: name === 'web' ? 'app' : 'worker',
    port: name === 'web' ? plan.port : null,
    startCommand: lines.get(name)!,
    evidence: [
      ...(plan.evidence ?? []),
      { file: folder.full('Procfile'), says: `${name} is started by ${clip(lines.get(name)!)}` },
    ],
    warnings: [
      ...(plan.warnings ?? []).filter((warning) => !warning.startsWith('nothing says how to start it')),
      ...(others.length > 0 ? [`Procfile: only ${name} is started, not ${others.slice(0, 10).join(', ')}`] : []),
    ],
  }
}
