import { quoted } from '../commands.ts'
import type { Evidence } from '../detection.ts'
import { dependency, file, has, manifest } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'

export const rails: readonly Stack[] = [{ framework: 'rails', when: dependency('ruby', 'rails'), plan: railsPlan }]
export const rubyServers: readonly Stack[] = [{ framework: 'sinatra', when: dependency('ruby', 'sinatra'), plan: rackPlan }]
export const plainRuby: readonly Stack[] = [
  { framework: 'rack', when: file('config.ru', 'starts a Rack app'), plan: rackPlan },
  { framework: 'ruby', when: manifest('ruby', 'a project in Ruby'), plan: rackPlan },
]

function railsPlan(app: App): Plan {
  const hasAssets = has(app, 'ruby', 'sprockets-rails', 'propshaft', 'sassc-rails', 'vite_rails', 'shakapacker')
  return {
    ...basics(app),
    buildCommand: hasAssets ? 'bundle exec rails assets:precompile' : null,
    // Rails takes the port from PORT by itself.
    startCommand: 'bundle exec rails server -b 0.0.0.0',
    port: 3000,
  }
}

const programs = ['app.rb', 'main.rb', 'server.rb', 'web.rb']

function rackPlan(app: App): Plan {
  const { folder } = app
  const program = programs.find((name) => folder.has(name))
  const viaRack = has(app, 'ruby', 'puma')
    ? 'bundle exec puma -b tcp://0.0.0.0:$PORT'
    : 'bundle exec rackup --host 0.0.0.0 --port $PORT'
  const isSinatra = has(app, 'ruby', 'sinatra')
  const direct = program ? `bundle exec ruby ${quoted(program)}${isSinatra ? ' -o 0.0.0.0 -p $PORT' : ''}` : null
  const plan = basics(app)
  const start = folder.has('config.ru') ? viaRack : direct
  return {
    ...plan,
    startCommand: start,
    port: isSinatra ? 4567 : 9292,
    warnings: [
      ...(plan.warnings ?? []),
      ...(start ? [] : ['no start command was found: add config.ru or set the start command']),
    ],
  }
}

function basics({ folder, manifests }: App): Plan {
  const isLocked = folder.has('Gemfile.lock')
  const evidence: Evidence[] = isLocked ? [{ file: folder.full('Gemfile.lock'), says: 'bundler is the package manager' }] : []
  return {
    type: 'app',
    language: 'ruby',
    ecosystem: 'ruby',
    packageManager: manifests.ruby ? 'bundler' : null,
    installCommand: manifests.ruby ? 'bundle install' : null,
    evidence,
    warnings: isLocked || !manifests.ruby ? [] : ['there is no lockfile of bundler; two installs may differ'],
  }
}
