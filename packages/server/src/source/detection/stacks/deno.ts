import { quoted } from '../commands.ts'
import { portInCode } from '../port-hints.ts'
import { allOf, clip, manifest, not, setting } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'

export const deno: readonly Stack[] = [{ framework: 'deno', when: manifest('deno', 'a project of Deno'), plan: denoPlan }]

/** A Deno program without a manifest is recognised by its imports and calls. */
export const bareDeno: readonly Stack[] = [
  {
    framework: 'deno',
    when: allOf(
      not(manifest('npm', 'a package of Node')),
      setting(
        '*.*s',
        /\bDeno\.(?:serve|listen|env|readFile)|\bfrom\s+["'](?:jsr:|npm:|https:\/\/(?:deno\.land|esm\.sh|jsr\.io)\/)/,
        'is written for Deno',
      ),
    ),
    plan: denoPlan,
  },
]

const entries = ['main.ts', 'server.ts', 'app.ts', 'mod.ts', 'index.ts', 'src/main.ts', 'main.js', 'server.js']

async function denoPlan({ folder, manifests }: App): Promise<Plan> {
  const { tasks, file, dependencies } = manifests.deno ?? { tasks: new Map<string, string>(), file: '', dependencies: new Map() }
  const entry =
    entries.find((name) => folder.has(name)) ??
    (manifests.deno ? null : (folder.find('*.ts')[0] ?? folder.find('*.js')[0])) ??
    null
  const hint = entry ? await portInCode(folder, entry) : null
  const isLocked = folder.has('deno.lock')
  const usedTasks = ['build', 'start'].filter((name) => tasks.has(name))
  return {
    type: 'app',
    language: entry?.endsWith('.js') ? 'javascript' : 'typescript',
    packageManager: 'deno',
    ecosystem: 'deno',
    installCommand: dependencies.size > 0 || isLocked ? `deno install${isLocked ? ' --frozen' : ''}` : null,
    buildCommand: tasks.has('build') ? 'deno task build' : null,
    startCommand: tasks.has('start')
      ? 'deno task start'
      : entry && `deno run --allow-net --allow-env --allow-read ${quoted(entry)}`,
    port: hint?.port ?? 8000,
    evidence: [
      ...(isLocked ? [{ file: folder.full('deno.lock'), says: 'deno is the package manager' }] : []),
      ...usedTasks.map((name) => ({ file: folder.full(file), says: `the task ${name} runs ${clip(tasks.get(name)!)}` })),
      ...(hint ? [hint.evidence] : []),
    ],
    warnings: [
      ...(dependencies.size > 0 && !isLocked ? ['there is no lockfile of deno; two installs may differ'] : []),
      ...(entry || tasks.has('start') ? [] : ['no start command was found: add a start task or set the start command']),
    ],
  }
}
