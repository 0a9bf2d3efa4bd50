import { joinCommands } from '../commands.ts'
import { javascriptTools } from '../javascript-tools.ts'
import { allOf, anyOf, dependency, file, has, manifest } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'

export const phpFrameworks: readonly Stack[] = [
  {
    framework: 'laravel',
    when: allOf(dependency('php', 'laravel/framework'), file('artisan', "Laravel's own commands")),
    plan: (app) => phpPlan(app, laravelStart(app)),
  },
  {
    framework: 'symfony',
    when: dependency('php', 'symfony/framework-bundle', 'symfony/symfony'),
    plan: (app) => phpPlan(app, builtInServer('public')),
  },
]

export const plainPhp: readonly Stack[] = [
  { framework: 'php', when: file('public/index.php', 'the first page'), plan: (app) => phpPlan(app, builtInServer('public')) },
  {
    framework: 'php',
    when: anyOf(file('index.php', 'the first page'), manifest('php', 'a PHP project')),
    plan: (app) => phpPlan(app, builtInServer(null)),
  },
]

interface Start {
  command: string
  isDevelopment: boolean
}

const builtInServer = (documentRoot: string | null): Start => ({
  command: `php -S 0.0.0.0:$PORT${documentRoot ? ` -t ${documentRoot}` : ''}`,
  isDevelopment: true,
})

function laravelStart(app: App): Start {
  const hasOctane = has(app, 'php', 'laravel/octane')
  return { command: `php artisan ${hasOctane ? 'octane:start' : 'serve'} --host=0.0.0.0 --port=$PORT`, isDevelopment: !hasOctane }
}

/** Plan of a PHP project. If it has a front end, its assets are built after Composer has installed the packages. */
async function phpPlan(app: App, { command, isDevelopment }: Start): Promise<Plan> {
  const { folder, manifests } = app
  const isLocked = folder.has('composer.lock')
  const assets = manifests.npm?.scripts.has('build') ? await javascriptTools(app) : null
  const composer = manifests.php ? 'composer install --no-dev --optimize-autoloader' : null
  return {
    type: 'app',
    language: 'php',
    ecosystem: 'php',
    packageManager: manifests.php ? 'composer' : null,
    installCommand: joinCommands(composer, assets?.install ?? null),
    buildCommand: assets ? assets.run('build') : null,
    startCommand: command,
    port: 8000,
    evidence: [
      ...(isLocked ? [{ file: folder.full('composer.lock'), says: 'composer is the package manager' }] : []),
      ...(assets ? [...assets.evidence, { file: folder.full('package.json'), says: 'the script build creates the assets' }] : []),
    ],
    warnings: [
      ...(manifests.php && !isLocked ? ['there is no lockfile of composer; two installs may differ'] : []),
      ...(assets?.warnings ?? []),
      ...(isDevelopment ? ["PHP's development server is used: it answers one request at a time"] : []),
    ],
  }
}
