import { javascriptTools } from '../javascript-tools.ts'
import { pythonTools } from '../python-tools.ts'
import { allOf, anyOf, dependency, file, setting } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'

/** Static site generators that are separate programs, or packages of other languages. */
export const pagePrograms: readonly Stack[] = [
  {
    framework: 'hugo',
    when: anyOf(
      ...['', 'config/_default/'].flatMap((path) =>
        ['toml', 'yaml', 'yml', 'json'].map((ending) => file(`${path}hugo.${ending}`, 'the settings of Hugo')),
      ),
      ...['', 'config/_default/'].map((path) =>
        allOf(
          setting(`${path}config.*`, /^\s*["']?(?:baseURL|baseurl)\b/m, 'the settings of Hugo'),
          folder('content', 'archetypes', 'layouts', 'themes'),
        ),
      ),
    ),
    plan: hugo,
  },
  {
    framework: 'zola',
    when: allOf(setting('config.toml', /^\s*base_url\s*=/m, 'the settings of Zola'), folder('content', 'templates', 'themes')),
    plan: program('zola build', 'public'),
  },
  {
    framework: 'mdbook',
    when: allOf(file('book.toml', 'an mdBook book'), file('src/SUMMARY.md', 'the table of contents')),
    plan: program('mdbook build', 'book'),
  },
  {
    framework: 'jekyll',
    when: anyOf(
      dependency('ruby', 'jekyll', 'github-pages'),
      allOf(file('_config.yml', 'the Jekyll settings'), folder('_posts', '_layouts', '_includes')),
    ),
    plan: (app) => gem(app, 'jekyll build', '_site'),
  },
  { framework: 'middleman', when: dependency('ruby', 'middleman'), plan: (app) => gem(app, 'middleman build', 'build') },
  {
    framework: 'mkdocs',
    when: anyOf(file('mkdocs.yml', 'the MkDocs settings'), file('mkdocs.yaml', 'the MkDocs settings')),
    plan: mkdocs,
  },
]

function folder(...names: string[]) {
  return ({ folder }: App) => (names.some((name) => folder.hasFolder(name)) ? [] : null)
}

/** Plan of a generator that is one program, which must be installed where the build runs. */
function program(build: string, output: string) {
  return (): Plan => ({ type: 'static', language: 'html', buildCommand: build, outputDirectory: output })
}

/** Plan of a Hugo site, whose styles and scripts may come from npm packages. */
async function hugo(app: App): Promise<Plan> {
  const pages = program('hugo --minify', 'public')()
  const tools = app.manifests.npm ? await javascriptTools(app) : null
  if (!tools?.install) return pages
  return {
    ...pages,
    packageManager: tools.manager,
    installCommand: tools.install,
    evidence: tools.evidence,
    warnings: tools.warnings,
  }
}

function gem({ folder, manifests }: App, build: string, output: string): Plan {
  const isLocked = folder.has('Gemfile.lock')
  const gemfile = manifests.ruby
  return {
    type: 'static',
    language: 'ruby',
    ecosystem: 'ruby',
    packageManager: gemfile ? 'bundler' : null,
    installCommand: gemfile ? 'bundle install' : `gem install ${build.split(' ')[0]}`,
    buildCommand: gemfile ? `bundle exec ${build}` : build,
    outputDirectory: output,
    evidence: isLocked ? [{ file: folder.full('Gemfile.lock'), says: 'bundler is the package manager' }] : [],
    warnings: gemfile && !isLocked ? ['there is no lockfile of bundler; two installs may differ'] : [],
  }
}

function mkdocs(app: App): Plan {
  const tools = pythonTools(app)
  return {
    type: 'static',
    language: 'python',
    ecosystem: 'python',
    packageManager: tools.manager,
    installCommand: tools.install ?? 'pip install mkdocs',
    buildCommand: tools.run('mkdocs build'),
    outputDirectory: 'site',
    evidence: tools.evidence,
    warnings: tools.warnings,
  }
}
