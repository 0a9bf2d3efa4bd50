import { dependency, manifest } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'

export const phoenix: readonly Stack[] = [
  {
    framework: 'phoenix',
    when: dependency('elixir', 'phoenix'),
    plan: (app) => ({ ...mixPlan(app), type: 'app', startCommand: 'mix phx.server', port: 4000 }),
  },
]
export const plainElixir: readonly Stack[] = [
  {
    framework: 'elixir',
    when: manifest('elixir', 'a project in Elixir'),
    plan: (app) => ({ ...mixPlan(app), startCommand: 'mix run --no-halt' }),
  },
]

function mixPlan({ folder, manifests }: App): Plan {
  const isLocked = folder.has('mix.lock')
  const hasAssets = manifests.elixir!.aliases.has('assets.deploy')
  return {
    type: 'worker',
    language: 'elixir',
    ecosystem: 'elixir',
    packageManager: 'mix',
    installCommand: 'mix deps.get --only prod',
    buildCommand: hasAssets ? 'mix assets.deploy' : 'mix compile',
    evidence: [
      ...(isLocked ? [{ file: folder.full('mix.lock'), says: 'mix is the package manager' }] : []),
      ...(hasAssets ? [{ file: folder.full('mix.exs'), says: 'the alias assets.deploy creates the assets' }] : []),
    ],
    warnings: [
      ...(isLocked ? [] : ['there is no lockfile of mix; two installs may differ']),
      ...(manifests.elixir!.dependencies.has('phoenix') ? ['set MIX_ENV to prod, and SECRET_KEY_BASE'] : ['set MIX_ENV to prod']),
    ],
  }
}
