import { packageOf } from '../../process/tools/tool-packages.ts'
import { allows } from '../../process/tools/version-range.ts'
import type { BuildPlan } from '../../runtime.ts'
import { type BaseImages, baseImagesFor, type StackName, stackOf } from './base-images.ts'

/** The folders that a project has in its image, and the plain user who owns them. */
export const appFolder = '/app'
export const homeFolder = '/home/app'
export const appUser = 1000

/** How a project becomes an image: what runs where, in what order, and what of it stays. */
export interface Recipe {
  stack: StackName
  /** Commands run in this one. */
  buildImage: string
  /** The result is this one with what `carry` names; the same as `buildImage` where everything stays. */
  runImage: string
  /** As root, before anything of the project is there: tools that the image lacks. */
  setup: string[]
  /** As the plain user. Its result is kept for the next build with the same manifests. */
  install: string | null
  build: string | null
  /** For the commands and for the running project. */
  env: Record<string, string>
  /** For the commands only. */
  buildEnv: Record<string, string>
  /** For the running project only. */
  runEnv: Record<string, string>
  /** Folders that go into another run image. */
  carry: string[]
  /** Of those, what the running project has no use for. */
  leaveBehind: (path: string) => boolean
}

/** Undefined where nothing says what the project is written in. */
export function recipeFor(plan: BuildPlan, overrides: BaseImages = {}): Recipe | undefined {
  const stack = stackOf(plan) ?? (plan.buildImage ? 'node' : null)
  if (!stack) return undefined
  const images = baseImagesFor(stack, plan, overrides)
  const row = rows[stack](plan)
  return {
    stack,
    buildImage: images.build,
    runImage: images.run,
    setup: row.setup ?? [],
    install: plan.installCommand,
    build: plan.buildCommand,
    env: { HOME: homeFolder, ...row.env },
    buildEnv: { CI: '1', ...row.buildEnv },
    runEnv: row.runEnv ?? {},
    carry: images.build === images.run ? [] : [appFolder, ...(row.carry ?? [])],
    leaveBehind: row.leaveBehind ?? (() => false),
  }
}

interface Row {
  setup?: string[]
  env?: Record<string, string>
  buildEnv?: Record<string, string>
  runEnv?: Record<string, string>
  carry?: string[]
  leaveBehind?: (path: string) => boolean
}

const certificates = '/etc/ssl/certs/ca-certificates.crt'
/**
 * Without NODE_ENV the development dependencies are installed, among which are the tools that build, and those then build for
 * production; with `development` they would not, and Next.js fails.
 */
const node = { env: { HOST: '0.0.0.0' }, runEnv: { NODE_ENV: 'production' } }
const nodeBuild = {
  npm_config_update_notifier: 'false',
  npm_config_fund: 'false',
  npm_config_audit: 'false',
}

const rows: Record<StackName, (plan: BuildPlan) => Row> = {
  node: (plan) => ({ setup: javascriptTool(plan), ...node, buildEnv: nodeBuild }),
  static: (plan) => ({ setup: [...javascriptTool(plan), ...pageProgram(plan)], ...node, buildEnv: nodeBuild }),
  bun: () => ({ ...node, buildEnv: nodeBuild }),
  deno: () => ({ env: { DENO_DIR: `${homeFolder}/deno` } }),
  python: (plan) => ({ setup: pythonTool(plan), env: python }),
  go: () => ({ env: {}, buildEnv: { GOPATH: `${homeFolder}/go`, GOFLAGS: '-buildvcs=false' }, carry: [certificates] }),
  rust: () => ({ buildEnv: { CARGO_HOME: `${homeFolder}/cargo` }, carry: [certificates], leaveBehind: isCargoWaste }),
  ruby: () => ({
    env: {
      BUNDLE_PATH: `${homeFolder}/bundle`,
      BUNDLE_WITHOUT: 'development:test',
      BUNDLE_DEPLOYMENT: 'false',
      RAILS_ENV: 'production',
      RACK_ENV: 'production',
      RAILS_LOG_TO_STDOUT: '1',
      RAILS_SERVE_STATIC_FILES: '1',
    },
    // Rails wants one to compile assets, and uses none of it.
    buildEnv: { SECRET_KEY_BASE_DUMMY: '1' },
  }),
  php: (plan) => ({ setup: phpTools(plan), env: { COMPOSER_HOME: `${homeFolder}/composer` } }),
  java: () => ({ buildEnv: { GRADLE_USER_HOME: `${homeFolder}/gradle`, MAVEN_OPTS: `-Duser.home=${homeFolder}` } }),
  dotnet: () => ({ env: { DOTNET_CLI_TELEMETRY_OPTOUT: '1', DOTNET_NOLOGO: '1' }, buildEnv: { DOTNET_CLI_HOME: homeFolder } }),
  elixir: () => ({
    setup: [
      `HOME=${homeFolder} mix local.hex --force`,
      `HOME=${homeFolder} mix local.rebar --force`,
      `chown -R ${appUser}:${appUser} ${homeFolder}`,
    ],
    env: { MIX_ENV: 'prod', PHX_SERVER: 'true', LANG: 'C.UTF-8' },
  }),
}

/** Packages of Python go to the plain user's own place: the image's belongs to root. */
const python = {
  PYTHONUNBUFFERED: '1',
  PYTHONDONTWRITEBYTECODE: '1',
  PIP_USER: '1',
  PIP_BREAK_SYSTEM_PACKAGES: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  PIP_NO_CACHE_DIR: '1',
  POETRY_VIRTUALENVS_IN_PROJECT: '1',
  PIPENV_VENV_IN_PROJECT: '1',
  UV_PYTHON_DOWNLOADS: 'never',
}

/** The version that the project asks for, also where the image has another; a range that can be read holds no quotes. */
function javascriptTool({ packageManager, runtimeVersion }: BuildPlan): string[] {
  const tool = (['npm', 'pnpm', 'yarn'] as const).find((one) => one === packageManager)
  if (!tool) return []
  const range = runtimeVersion[tool]
  if (range !== undefined && allows(range, [0, 0, 0]) !== null) {
    const { name } = packageOf(tool, range, process)
    return [`npm install -g --force '${name}@${range}' || corepack enable ${tool} || command -v ${tool}`]
  }
  return tool === 'npm' ? [] : [`command -v ${tool} || corepack enable ${tool} || npm install -g ${tool}`]
}

/** Hugo is a package of the image's distribution; other generators of pages need an image that has them. */
function pageProgram({ framework }: BuildPlan): string[] {
  return framework === 'hugo'
    ? ['command -v hugo || (apt-get update && apt-get install -y --no-install-recommends hugo && rm -rf /var/lib/apt/lists/*)']
    : []
}

function pythonTool({ packageManager }: BuildPlan): string[] {
  const isTool = ['uv', 'poetry', 'pipenv', 'pdm'].includes(packageManager ?? '')
  return isTool ? [`command -v ${packageManager} || PIP_USER=0 pip install ${packageManager}`] : []
}

function phpTools({ packageManager, installCommand, buildCommand }: BuildPlan): string[] {
  const usesNode = /\b(npm|npx|yarn|pnpm)\b/.test(`${installCommand} ${buildCommand}`)
  const packages = [...(packageManager === 'composer' ? ['git', 'unzip'] : []), ...(usesNode ? ['nodejs', 'npm'] : [])]
  const install = `apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')} && rm -rf /var/lib/apt/lists/*`
  const composer =
    'command -v composer || php -r \'copy("https://getcomposer.org/download/latest-stable/composer.phar", "/usr/local/bin/composer");\' && chmod 755 /usr/local/bin/composer'
  return [...(packages.length > 0 ? [install] : []), ...(packageManager === 'composer' ? [composer] : [])]
}

/** Of what cargo makes only the programs run. */
const isCargoWaste = (path: string) => /(^|\/)target\//.test(path) && !/(^|\/)target\/(release\/[^/]*)?$/.test(path)
