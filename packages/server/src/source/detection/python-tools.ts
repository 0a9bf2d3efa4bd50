import { quoted } from './commands.ts'
import type { Evidence } from './detection.ts'
import type { App } from './stack.ts'

/** Commands of the project's package manager to install, and to run a program with the installed packages. */
export interface PythonTools {
  manager: 'uv' | 'poetry' | 'pipenv' | 'pdm' | 'pip'
  install: string | null
  run: (command: string) => string
  evidence: Evidence[]
  warnings: string[]
}

interface Manager {
  name: PythonTools['manager']
  lockfile: string
  /** Chosen without a lockfile. */
  isChosen: (app: App) => boolean
  frozen: string
  plain: string
  prefix: string
}

export const pythonManagers = ['pip', 'uv', 'poetry', 'pdm', 'pipenv'] as const

const managers: readonly Manager[] = [
  {
    name: 'uv',
    lockfile: 'uv.lock',
    isChosen: ({ manifests }) => manifests.python?.usesUv ?? false,
    frozen: 'uv sync --frozen --no-dev',
    plain: 'uv sync --no-dev',
    prefix: 'uv run --no-sync ',
  },
  {
    name: 'poetry',
    lockfile: 'poetry.lock',
    isChosen: ({ manifests }) => manifests.python?.usesPoetry ?? false,
    frozen: 'poetry install --only main --no-root',
    plain: 'poetry install --only main --no-root',
    prefix: 'poetry run ',
  },
  {
    name: 'pdm',
    lockfile: 'pdm.lock',
    isChosen: () => false,
    frozen: 'pdm sync --prod',
    plain: 'pdm install --prod',
    prefix: 'pdm run ',
  },
  {
    name: 'pipenv',
    lockfile: 'Pipfile.lock',
    isChosen: ({ folder }) => folder.has('Pipfile'),
    frozen: 'pipenv sync',
    plain: 'pipenv install',
    prefix: 'pipenv run ',
  },
]

export function pythonTools(app: App): PythonTools {
  const { folder } = app
  const chosen = managers.find(({ name }) => name === app.packageManager)
  const locked = managers.filter((manager) => folder.has(manager.lockfile))
  const manager = chosen ?? locked[0] ?? managers.find((one) => one.isChosen(app))
  if (!manager || app.packageManager === 'pip') return pip(app)
  const isLocked = locked.includes(manager)
  const others = locked.filter((one) => one !== manager).map((one) => one.lockfile)
  return {
    manager: manager.name,
    install: isLocked ? manager.frozen : manager.plain,
    run: (command) => manager.prefix + command,
    evidence: isLocked ? [{ file: folder.full(manager.lockfile), says: `${manager.name} is the package manager` }] : [],
    warnings: [
      ...(others.length > 0
        ? [`${manager.name} is used, but ${others.join(' and ')} ${others.length > 1 ? 'are' : 'is'} there too`]
        : []),
      ...(isLocked ? [] : [`there is no lockfile of ${manager.name}; two installs may differ`]),
    ],
  }
}

function pip({ folder, manifests }: App): PythonTools {
  const { requirements = null, hasPyproject = false } = manifests.python ?? {}
  const install = requirements ? `pip install -r ${quoted(requirements)}` : hasPyproject ? 'pip install .' : null
  return {
    manager: 'pip',
    install,
    run: (command) => command,
    evidence: requirements ? [{ file: folder.full(requirements), says: 'pip is the package manager' }] : [],
    warnings: install ? [] : ['no file lists the dependencies'],
  }
}
