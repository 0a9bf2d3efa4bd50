import type { Evidence } from '../detection.ts'
import { parseDockerfile } from '../dockerfile.ts'
import type { Ecosystem } from '../manifests/index.ts'
import { portInCommand } from '../port-hints.ts'
import { clip, file } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'
import { javascriptLanguage } from './node-plans.ts'

const names = ['Dockerfile', 'Containerfile']

/** A Dockerfile defines build and start; no commands are needed. */
export const dockerfileAt = (path: string): Stack => ({
  framework: 'dockerfile',
  when: file(path, 'says how the image is built'),
  plan: (app) => dockerPlan(app, path),
})

export const dockerfile: readonly Stack[] = names.map(dockerfileAt)

export const hasDockerfile = ({ folder }: App) => names.some((name) => folder.has(name))

async function dockerPlan(app: App, name: string): Promise<Plan> {
  const { folder } = app
  const { ports, command } = parseDockerfile((await folder.text(name)) ?? '')
  const hint = ports.length === 0 && command !== null ? portInCommand(plainCommand(command), folder.full(name)) : null
  const evidence: Evidence[] = [
    ...(ports[0] === undefined ? [] : [{ file: folder.full(name), says: clip(`exposes ${ports.join(', ')}`) }]),
    ...(command === null ? [] : [{ file: folder.full(name), says: `starts ${clip(command)}` }]),
    ...(hint ? [hint.evidence] : []),
  ]
  return {
    type: 'app',
    language: languageOf(app),
    port: ports[0] ?? hint?.port ?? null,
    evidence,
    warnings: [
      ...(ports.length === 0 && !hint
        ? ['the Dockerfile exposes no port: listen on the variable PORT, set the port of the project, or set its type to worker']
        : []),
      ...(ports.length > 1 ? [`the Dockerfile exposes several ports; ${ports[0]} is used`] : []),
    ],
  }
}

/** `["a", "b"]` as `a b`; a command of the shell form is unchanged. */
function plainCommand(command: string): string {
  try {
    return (JSON.parse(command) as unknown[]).join(' ')
  } catch {
    return command
  }
}

const languages: readonly [Ecosystem, string | ((app: App) => string)][] = [
  ['npm', javascriptLanguage],
  ['deno', 'typescript'],
  ['python', 'python'],
  ['go', 'go'],
  ['rust', 'rust'],
  ['php', 'php'],
  ['ruby', 'ruby'],
  ['java', (app) => app.manifests.java!.language],
  ['dotnet', (app) => app.manifests.dotnet!.language],
  ['elixir', 'elixir'],
]

/** The language of a project that is built as an image. */
export function languageOf(app: App): string | null {
  const found = languages.find(([ecosystem]) => app.manifests[ecosystem])?.[1]
  return typeof found === 'function' ? found(app) : (found ?? null)
}
