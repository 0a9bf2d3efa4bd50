import type { BuildPlan } from '../../build-plan.ts'
import { appFolder } from '../../mount-path.ts'
import { packageOf } from '../../process/tools/tool-packages.ts'
import { allows } from '../../process/tools/version-range.ts'
import { type BaseImages, baseImagesFor, type StackName, stackOf } from './base-images.ts'

/** Home folder of a project in its image, and the unprivileged user that owns it. */
export const homeFolder = '/home/app'
export const appUser = 1000

/** How a project becomes an image: images, commands, environment, and the folders that are kept. */
export interface Recipe {
  stack: StackName
  /** Image in which the commands run. */
  buildImage: string
  /** Base of the resulting image, to which `copiedFolders` are added. The same as `buildImage` if everything is kept. */
  runImage: string
  /** Commands that run as root, before the source is copied: they install tools that the image lacks. */
  setup: string[]
  /** Runs as the unprivileged user. Its result is cached for builds with the same manifests. */
  install: string | null
  build: string | null
  /** Environment of the commands and of the running project. */
  env: Record<string, string>
  /** Environment of the commands only. */
  buildEnv: Record<string, string>
  /** Environment of the running project only. */
  runEnv: Record<string, string>
  /** Folders to copy into the run image, if it differs. */
  copiedFolders: string[]
  /** Files in these folders that the running project does not need. */
  isExcluded: (path: string) => boolean
}

/** Recipe for a plan. Undefined if the language is unknown. */
export function recipeFor(plan: BuildPlan, overrides: BaseImages = {}): Recipe | undefined {
  const stack = stackOf(plan) ?? (plan.buildImage ? 'node' : null)
  if (!stack) return undefined
  const images = baseImagesFor(stack, plan, overrides)
  const row = recipes[stack](plan)
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
    copiedFolders: images.build === images.run ? [] : [appFolder, ...(row.copiedFolders ?? [])],
    isExcluded: row.isExcluded ?? (() => false),
  }
}

interface StackRecipe {
  setup?: string[]
  env?: Record<string, string>
  buildEnv?: Record<string, string>
  runEnv?: Record<string, string>
  copiedFolders?: string[]
  isExcluded?: (path: string) => boolean
}

const certificates = '/etc/ssl/certs/ca-certificates.crt'
/**
 * NODE_ENV is unset during the build, so that development dependencies are installed. They include build tools, which then
 * build for production by default. With `development` they would not, and Next.js fails.
 */
const nodeEnv = { env: { HOST: '0.0.0.0' }, runEnv: { NODE_ENV: 'production' } }
const npmBuildEnv = {
  npm_config_update_notifier: 'false',
  npm_config_fund: 'false',
  npm_config_audit: 'false',
}

const recipes: Record<StackName, (plan: BuildPlan) => StackRecipe> = {
  node: (plan) => ({ setup: javascriptSetup(plan), ...nodeEnv, buildEnv: npmBuildEnv }),
  static: (plan) => ({ setup: [...javascriptSetup(plan), ...siteGeneratorSetup(plan)], ...nodeEnv, buildEnv: npmBuildEnv }),
  bun: () => ({ ...nodeEnv, buildEnv: npmBuildEnv }),
  deno: () => ({ env: { DENO_DIR: `${homeFolder}/deno` } }),
  python: (plan) => ({ setup: pythonSetup(plan), env: pythonEnv }),
  go: () => ({ env: {}, buildEnv: { GOPATH: `${homeFolder}/go`, GOFLAGS: '-buildvcs=false' }, copiedFolders: [certificates] }),
  rust: () => ({
    buildEnv: { CARGO_HOME: `${homeFolder}/cargo` },
    copiedFolders: [certificates],
    isExcluded: isCargoIntermediate,
  }),
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
    // Rails requires a value to compile assets, but does not use it.
    buildEnv: { SECRET_KEY_BASE_DUMMY: '1' },
  }),
  php: (plan) => ({ setup: phpSetup(plan), env: { COMPOSER_HOME: `${homeFolder}/composer` } }),
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

/** Installs Python packages for the unprivileged user, because root owns the image's own folder. */
const pythonEnv = {
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

/** Installs the requested version even if the image has another. A range that can be parsed contains no quotes. */
function javascriptSetup({ packageManager, runtimeVersion }: BuildPlan): string[] {
  const tool = (['npm', 'pnpm', 'yarn'] as const).find((one) => one === packageManager)
  if (!tool) return []
  const range = runtimeVersion[tool]
  if (range !== undefined && allows(range, [0, 0, 0]) !== null) {
    const { name } = packageOf(tool, range, process)
    return [`npm install -g --force '${name}@${range}' || corepack enable ${tool} || command -v ${tool}`]
  }
  return tool === 'npm' ? [] : [`command -v ${tool} || corepack enable ${tool} || npm install -g ${tool}`]
}

/** Hugo is a package of the image's distribution. Other site generators need an image that has them. */
function siteGeneratorSetup({ framework }: BuildPlan): string[] {
  return framework === 'hugo'
    ? ['command -v hugo || (apt-get update && apt-get install -y --no-install-recommends hugo && rm -rf /var/lib/apt/lists/*)']
    : []
}

function pythonSetup({ packageManager }: BuildPlan): string[] {
  const isTool = ['uv', 'poetry', 'pipenv', 'pdm'].includes(packageManager ?? '')
  return isTool ? [`command -v ${packageManager} || PIP_USER=0 pip install ${packageManager}`] : []
}

function phpSetup({ packageManager, installCommand, buildCommand }: BuildPlan): string[] {
  const usesNode = /\b(npm|npx|yarn|pnpm)\b/.test(`${installCommand} ${buildCommand}`)
  const packages = [...(packageManager === 'composer' ? ['git', 'unzip'] : []), ...(usesNode ? ['nodejs', 'npm'] : [])]
  const install = `apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')} && rm -rf /var/lib/apt/lists/*`
  const composer =
    'command -v composer || php -r \'copy("https://getcomposer.org/download/latest-stable/composer.phar", "/usr/local/bin/composer");\' && chmod 755 /usr/local/bin/composer'
  return [...(packages.length > 0 ? [install] : []), ...(packageManager === 'composer' ? [composer] : [])]
}

/** Cargo's intermediate files. Only the programs in `target/release` are needed to run. */
const isCargoIntermediate = (path: string) => /(^|\/)target\//.test(path) && !/(^|\/)target\/(release\/[^/]*)?$/.test(path)
