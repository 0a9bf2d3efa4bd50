import { allOf, dependency, file, not, script } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'
import { startsServer } from './node-apps.ts'
import { settingIn } from './node-frameworks.ts'
import { server, site } from './node-plans.ts'

const uses = (...names: string[]) => dependency('npm', ...names)

/** The output folder of a documentation generator: `vitepress build docs` writes to `docs/.vitepress/dist`. */
const docsOutput =
  (config: string, output: string) =>
  ({ folder, manifests }: App): string => {
    const line = ['build', 'docs:build'].map((name) => manifests.npm?.scripts.get(name)).find(Boolean) ?? ''
    const configured = /\b(?:vitepress|vuepress) build ([\w./-]{1,100})/.exec(line)?.[1]?.replace(/^\.\/|\/$/g, '')
    const found =
      configured ?? ['', 'docs', 'src', 'site'].find((base) => folder.hasFolder([base, config].filter(Boolean).join('/')))
    return [found === '.' ? '' : found, config, output].filter(Boolean).join('/')
  }

const docsScripts = ['build', 'docs:build']

/** Static site generators: their `start` script is a development server, and their build produces files. */
export const siteGenerators: readonly Stack[] = [
  { framework: 'docusaurus', when: uses('@docusaurus/core'), plan: site({ build: 'docusaurus build', output: 'build' }) },
  {
    framework: 'vitepress',
    when: uses('vitepress'),
    plan: site({ build: 'vitepress build', buildScripts: ['docs:build', 'build'], output: docsOutput('.vitepress', 'dist') }),
  },
  {
    framework: 'vuepress',
    when: uses('vuepress', '@vuepress/cli'),
    plan: site({ build: 'vuepress build', buildScripts: ['docs:build', 'build'], output: docsOutput('.vuepress', 'dist') }),
  },
  {
    framework: 'eleventy',
    when: uses('@11ty/eleventy'),
    plan: site({ build: 'eleventy', buildScripts: docsScripts, output: eleventyOutput }),
  },
  { framework: 'hexo', when: uses('hexo'), plan: site({ build: 'hexo generate', output: 'public' }) },
  { framework: 'gridsome', when: uses('gridsome'), plan: site({ build: 'gridsome build', output: 'dist' }) },
  { framework: 'ember', when: uses('ember-cli'), plan: site({ build: 'ember build --environment=production', output: 'dist' }) },
  {
    framework: 'umi',
    when: uses('umi', '@umijs/max', '@umijs/preset-umi'),
    plan: site({ build: 'umi build', output: (app) => settingIn(app, '.umirc.*', 'outputPath', 'dist') }),
  },
  {
    framework: 'stencil',
    when: allOf(uses('@stencil/core'), not(script('start', /(?:^|\s)node(?:\s|$)/))),
    plan: site({ build: 'stencil build', output: 'www' }),
  },
  { framework: 'preact-cli', when: uses('preact-cli'), plan: site({ build: 'preact build', output: 'build' }) },
  {
    framework: 'quasar',
    when: uses('@quasar/app-vite', '@quasar/app-webpack', '@quasar/app'),
    plan: site({ build: 'quasar build', output: 'dist/spa' }),
  },
  {
    framework: 'docusaurus',
    when: uses('docusaurus'),
    plan: site({
      build: 'docusaurus-build',
      output: async (app) => `build/${await settingIn(app, 'siteConfig.js', 'projectName', '')}`,
    }),
  },
  { framework: 'brunch', when: uses('brunch'), plan: site({ build: 'brunch build --production', output: 'public' }) },
  { framework: 'polymer', when: uses('polymer-cli'), plan: site({ build: 'polymer build', output: 'build/default' }) },
  {
    framework: 'sapper',
    when: uses('sapper'),
    plan: server({ build: 'sapper build', start: 'node __sapper__/build', port: 3000 }),
  },
  { framework: 'elm-pages', when: uses('elm-pages'), plan: site({ build: 'elm-pages build', output: 'dist' }) },
]

const nitroServer = 'node .output/server/index.mjs'

/** Frameworks on Nitro: the build always produces the same server file. */
export const nitroFrameworks: readonly Stack[] = [
  {
    framework: 'tanstack-start',
    when: uses('@tanstack/react-start', '@tanstack/solid-start', '@tanstack/start'),
    plan: server({ build: 'vite build', start: nitroServer, port: 3000 }),
  },
  {
    framework: 'solid-start',
    when: uses('@solidjs/start'),
    plan: server({ build: 'vinxi build', start: nitroServer, port: 3000 }),
  },
  {
    framework: 'analog',
    when: uses('@analogjs/platform'),
    plan: server({ build: 'vite build', startScripts: [], start: 'node dist/analog/server/index.mjs', port: 3000 }),
  },
  {
    framework: 'nitro',
    when: uses('nitropack', 'nitro'),
    plan: server({ build: 'nitro build', start: nitroServer, port: 3000 }),
  },
]

const pages = file('index.html', 'the first page')
const sourcePages = file('src/index.html', 'the first page')

/** Bundlers of browser code: their start command is a development server, and their build produces static files. */
export const browserBundlers: readonly Stack[] = [
  ...[pages, sourcePages].map((page) => ({
    framework: 'parcel',
    when: allOf(uses('parcel', 'parcel-bundler'), page, not(startsServer)),
    plan: (app: App) => parcelPlan(app),
  })),
  {
    // Only with react-native-web does a mobile app also have web pages.
    framework: 'expo',
    when: allOf(uses('expo'), uses('react-native-web'), not(startsServer)),
    plan: site({ build: 'expo export --platform web', output: 'dist' }),
  },
  {
    framework: 'rsbuild',
    when: allOf(uses('@rsbuild/core'), not(startsServer)),
    plan: site({ build: 'rsbuild build', output: 'dist' }),
  },
  {
    framework: 'webpack',
    when: allOf(uses('webpack-dev-server'), not(startsServer)),
    plan: site({ build: 'webpack --mode production', output: 'dist' }),
  },
  {
    // The page is in the repository, and the bundle is written beside it, as in the template of Svelte 3.
    framework: 'rollup',
    when: allOf(uses('rollup'), file('public/index.html', 'the first page'), not(startsServer)),
    plan: site({ build: 'rollup --config', output: 'public' }),
  },
]

function parcelPlan(app: App): Promise<Plan> {
  const page = app.folder.has('index.html') ? 'index.html' : 'src/index.html'
  return site({ build: `parcel build ${page}`, output: 'dist' })(app)
}

async function eleventyOutput({ folder, manifests }: App): Promise<string> {
  const line = manifests.npm?.scripts.get('build') ?? ''
  const configured = /--output[ =]["']?([\w./-]{1,100})/.exec(line)?.[1]
  if (configured) return configured
  for (const config of [...folder.find('.eleventy.*'), ...folder.find('eleventy.config.*')].slice(0, 5)) {
    const text = (await folder.text(config)) ?? ''
    const found =
      /\boutput\s*:\s*["'`]([\w./-]{1,100})["'`]/.exec(text) ?? /setOutputDirectory\(\s*["'`]([\w./-]{1,100})/.exec(text)
    if (found) return found[1]!
  }
  return '_site'
}
