import { dig, recordOf, textOf } from '../../values.ts'
import { quoted } from '../commands.ts'
import { allOf, anyOf, dependency, file, maxConfigs, not, script, setting } from '../signs.ts'
import { stripComments } from '../source-text.ts'
import type { App, Plan, Stack } from '../stack.ts'
import { server, site } from './node-plans.ts'

const uses = (...names: string[]) => dependency('npm', ...names)
const usesQwik = uses('@builder.io/qwik-city', '@qwik.dev/router')
const withoutServer = (config: string) => setting(config, /\bssr\s*:\s*false\b/, 'ssr is false, so the pages are files')

/** Frameworks that build pages, most specific first: a Next.js project also depends on React and often on Express. */
export const nodeFrameworks: readonly Stack[] = [
  {
    framework: 'nextjs',
    when: allOf(
      uses('next'),
      anyOf(
        setting('next.config.*', /\boutput\s*:\s*["'`]export["'`]/, "output is 'export', so the pages are files"),
        script('build', /\bnext export\b/),
      ),
    ),
    plan: site({ build: 'next build', output: (app) => settingIn(app, 'next.config.*', 'distDir', 'out') }),
  },
  { framework: 'nextjs', when: uses('next'), plan: server({ build: 'next build', startTool: 'next start', port: 3000 }) },
  {
    framework: 'nuxt',
    when: allOf(uses('nuxt', 'nuxt3'), anyOf(script('build', /\bgenerate\b/), allOf(script('generate'), not(script('build'))))),
    plan: site({ buildScripts: ['build', 'generate'], build: 'nuxt generate', output: '.output/public' }),
  },
  {
    framework: 'nuxt',
    when: uses('nuxt', 'nuxt3'),
    plan: server({ build: 'nuxt build', start: 'node .output/server/index.mjs', port: 3000 }),
  },
  {
    framework: 'sveltekit',
    when: allOf(uses('@sveltejs/kit'), uses('@sveltejs/adapter-static')),
    plan: site({ build: 'vite build', output: (app) => settingIn(app, 'svelte.config.*', 'pages', 'build') }),
  },
  {
    framework: 'sveltekit',
    when: allOf(uses('@sveltejs/kit'), uses('@sveltejs/adapter-node')),
    plan: server({
      build: 'vite build',
      start: async (app) => `node ${quoted(await settingIn(app, 'svelte.config.*', 'out', 'build'))}`,
      port: 3000,
    }),
  },
  {
    framework: 'sveltekit',
    when: uses('@sveltejs/kit'),
    plan: server({
      build: 'vite build',
      startTool: 'vite preview --host 0.0.0.0 --port $PORT',
      port: 4173,
      warnings: ["SvelteKit's preview server is used: add @sveltejs/adapter-node to run the build as a server of its own"],
    }),
  },
  {
    framework: 'qwik',
    when: allOf(usesQwik, script('serve', /(?:^|\s)(?:node|bun)(?:\s|$)/)),
    plan: server({ build: 'qwik build', startScripts: ['serve'], port: 3000 }),
  },
  {
    framework: 'qwik',
    when: allOf(usesQwik, file('adapters/static/vite.config.*', 'the pages are files')),
    plan: site({ build: 'qwik build', output: 'dist' }),
  },
  {
    framework: 'qwik',
    when: usesQwik,
    plan: server({
      buildScripts: [],
      build: 'qwik build preview',
      startScripts: [],
      startTool: 'vite preview --host 0.0.0.0 --port $PORT',
      port: 4173,
      warnings: ["Qwik's preview server is used: `qwik add express` makes a server of its own"],
    }),
  },
  {
    framework: 'react-router',
    when: allOf(uses('@react-router/dev'), withoutServer('react-router.config.*')),
    plan: site({ build: 'react-router build', output: 'build/client' }),
  },
  {
    framework: 'react-router',
    when: uses('@react-router/dev'),
    plan: server({ build: 'react-router build', startTool: 'react-router-serve ./build/server/index.js', port: 3000 }),
  },
  {
    framework: 'remix',
    when: allOf(uses('@remix-run/dev'), withoutServer('vite.config.*')),
    plan: site({ build: 'remix vite:build', output: 'build/client' }),
  },
  {
    framework: 'remix',
    when: allOf(uses('@remix-run/dev', '@remix-run/serve', '@remix-run/node'), file('vite.config.*', 'builds with Vite')),
    plan: server({ build: 'remix vite:build', startTool: 'remix-serve ./build/server/index.js', port: 3000 }),
  },
  {
    framework: 'remix',
    when: uses('@remix-run/dev', '@remix-run/serve'),
    plan: server({ build: 'remix build', startTool: 'remix-serve ./build/index.js', port: 3000 }),
  },
  {
    framework: 'astro',
    when: allOf(uses('astro'), uses('@astrojs/node')),
    plan: server({ build: 'astro build', start: 'node ./dist/server/entry.mjs', port: 4321 }),
  },
  {
    framework: 'astro',
    when: allOf(uses('astro'), uses('@astrojs/vercel', '@astrojs/netlify', '@astrojs/cloudflare')),
    plan: server({
      build: 'astro build',
      start: 'node ./dist/server/entry.mjs',
      port: 4321,
      warnings: ['the adapter builds for another host; Astro runs here with @astrojs/node'],
    }),
  },
  {
    framework: 'astro',
    when: uses('astro'),
    plan: site({ build: 'astro build', output: (app) => settingIn(app, 'astro.config.*', 'outDir', 'dist') }),
  },
  { framework: 'gatsby', when: uses('gatsby'), plan: site({ build: 'gatsby build', output: 'public' }) },
  { framework: 'angular', when: allOf(uses('@angular/core'), uses('@angular/ssr')), plan: angularServer },
  {
    framework: 'angular',
    when: uses('@angular/core'),
    plan: site({ build: 'ng build', output: async (app) => (await angularOutput(app)).browser }),
  },
  {
    framework: 'adonisjs',
    when: allOf(uses('@adonisjs/core'), anyOf(file('bin/server.ts', 'the server'), file('server.ts', 'the server'))),
    plan: adonis,
  },
  {
    framework: 'nestjs',
    when: uses('@nestjs/core'),
    plan: server({ build: 'nest build', startScripts: ['start:prod', 'start'], start: 'node dist/main', port: 3000 }),
  },
]

/** The value of a setting in a config file, if it is a string literal. */
export async function settingIn({ folder }: App, pattern: string, name: string, standard: string): Promise<string> {
  for (const path of folder.find(pattern).slice(0, maxConfigs)) {
    const text = stripComments((await folder.text(path)) ?? '')
    const found = new RegExp(`\\b${name}\\s*:\\s*["'\`]([^"'\`\\n$]{1,200})["'\`]`).exec(text)?.[1]
    if (found) return found
  }
  return standard
}

/** AdonisJS builds a separate project below `build`, where its start script is meant to run. */
function adonis(app: App): Promise<Plan> {
  const entry = app.folder.has('bin/server.ts') ? 'bin/server.js' : 'server.js'
  return server({ build: 'node ace build', startScripts: [], start: `node build/${entry}`, port: 3333 })(app)
}

/** Runs the same command as the script that the Angular CLI generates, which is named after the project. */
async function angularServer(app: App): Promise<Plan> {
  const { base } = await angularOutput(app)
  return server({ build: 'ng build', startScripts: [], start: `node ${quoted(`${base}/server/server.mjs`)}`, port: 4000 })(app)
}

/** Output folders of Angular: the application builder has a separate folder for the pages, the older builder does not. */
async function angularOutput({ folder, manifests }: App): Promise<{ base: string; browser: string }> {
  const workspace = recordOf(await folder.json('angular.json'))
  const projects = Object.entries(recordOf(workspace.projects))
  const [name, project] = projects.find(([, one]) => dig(one, 'projectType') !== 'library') ?? [
    manifests.npm?.name ?? folder.name,
    {},
  ]
  const build = dig(project, 'architect', 'build') ?? dig(project, 'targets', 'build')
  const path = dig(build, 'options', 'outputPath')
  const base = textOf(path) ?? textOf(dig(path, 'base')) ?? `dist/${name}`
  const isOlder = /:browser(-esbuild)?$/.test(textOf(dig(build, 'builder')) ?? '')
  const inner = typeof dig(path, 'browser') === 'string' ? String(dig(path, 'browser')) : 'browser'
  return { base, browser: isOlder || inner === '' ? base : `${base}/${inner}` }
}
