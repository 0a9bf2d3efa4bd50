import { posix } from 'node:path'
import { quoted } from '../commands.ts'
import { fixedPortWarnings, portInCode } from '../port-hints.ts'
import { readProcfile } from '../procfile.ts'
import { manifest, setting } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'

export const go: readonly Stack[] = [{ framework: 'go', when: manifest('go', 'a module of Go'), plan: goPlan }]

/** Go files without `go.mod`: they can be built if they use only the standard library. */
export const bareGo: readonly Stack[] = [
  { framework: 'go', when: setting('*.go', /^package main\b/m, 'contains package main'), plan: bareGoPlan },
]

const maxFiles = 20
const standardPort = 8080

async function bareGoPlan({ folder }: App): Promise<Plan> {
  const files = folder.find('*.go').filter((name) => !name.endsWith('_test.go'))
  const hint = await portInCode(folder, files.find((name) => name === 'main.go') ?? files[0] ?? '')
  return {
    type: 'app',
    language: 'go',
    packageManager: 'go',
    buildCommand: `go build -o bin/app ${files.slice(0, maxFiles).map(quoted).join(' ')}`,
    startCommand: './bin/app',
    port: hint?.port ?? standardPort,
    evidence: hint ? [hint.evidence] : [],
    warnings: ['there is no go.mod: only the standard library can be used; `go mod init` makes one', ...fixedPortWarnings(hint)],
  }
}

async function goPlan(app: App): Promise<Plan> {
  const { folder, manifests } = app
  const { name, dependencies } = manifests.go!
  const programs = await findPrograms(app)
  const folders = programs.map(folderOf)
  const started = await startedByProcfile(app)
  const main =
    programs.find((path) => lastOf(folderOf(path)) === started) ??
    programs.find((path) => ['server', 'api', 'web', 'app', name].includes(lastOf(folderOf(path)))) ??
    programs[0]
  const target = main === undefined || folderOf(main) === '.' ? '.' : `./${folderOf(main)}`
  const program = `./bin/${started ?? 'app'}`
  const hint = main === undefined ? null : await portInCode(folder, main)
  return {
    type: 'app',
    language: 'go',
    ecosystem: 'go',
    packageManager: 'go',
    installCommand: dependencies.size > 0 ? 'go mod download' : null,
    buildCommand: main === undefined ? 'go build ./...' : `go build -o ${program.slice(2)} ${quoted(target)}`,
    startCommand: main === undefined ? null : program,
    port: hint?.port ?? standardPort,
    evidence: [
      ...(main === undefined ? [] : [{ file: folder.full(main), says: 'contains package main' }]),
      ...(hint ? [hint.evidence] : []),
    ],
    warnings: [
      ...(main === undefined ? ['no package main was found: set the build and the start command'] : []),
      ...(programs.length > 1
        ? [`there are several programs (${folders.slice(0, 10).join(', ')}); ${folderOf(main!)} is used`]
        : []),
      ...fixedPortWarnings(hint),
    ],
  }
}

/** Files with `package main`, one per folder: that of the root, or those below `cmd`. */
async function findPrograms({ folder }: App): Promise<string[]> {
  for (const path of [...folder.find('main.go'), ...folder.find('*.go').slice(0, 20)])
    if (isMain(await folder.text(path))) return [path]
  const found = new Map<string, string>()
  for (const path of [...folder.find('cmd/*.go'), ...folder.find('cmd/*/*.go')].slice(0, 100))
    if (!found.has(folderOf(path)) && isMain(await folder.text(path))) found.set(folderOf(path), path)
  return [...found.values()]
}

/**
 * The program name that a Procfile starts. Heroku names a program after its folder or module and finds it in `bin`, so the build
 * must use that name.
 */
async function startedByProcfile({ folder, manifests }: App): Promise<string | null> {
  const lines = await readProcfile(folder)
  const line = lines?.get('web') ?? lines?.get('worker') ?? ''
  const [, location, program] = /^(?:\.\/)?(bin\/)?([A-Za-z0-9_][\w.-]{0,99})(?:\s|$)/.exec(line) ?? []
  if (program === undefined || folder.has(`${location ?? ''}${program}`)) return null
  return location || program === manifests.go?.name || folder.hasFolder(`cmd/${program}`) ? program : null
}

const lastOf = (path: string) => path.split('/').at(-1)!
const folderOf = (path: string) => posix.dirname(path)
const isMain = (text: string | null) => text !== null && /^package main\b/m.test(text)
