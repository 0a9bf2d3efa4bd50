import { type CorpusCase, npm, page } from './corpus.ts'

const site = (framework: string, outputDirectory: string, buildCommand = 'npm run build'): CorpusCase['is'] => ({
  framework,
  type: 'static',
  buildCommand,
  startCommand: null,
  outputDirectory,
})

/** Generators of documents and pages, and bundlers of browser code: files, never a server. */
export const pages: readonly CorpusCase[] = [
  {
    name: 'docusaurus',
    files: npm(['@docusaurus/core', 'react'], { start: 'docusaurus start', build: 'docusaurus build' }),
    is: site('docusaurus', 'build'),
  },
  {
    name: 'docusaurus without scripts',
    files: npm(['@docusaurus/core']),
    is: site('docusaurus', 'build', 'npx --no-install docusaurus build'),
  },
  {
    name: 'eleventy',
    files: npm(['@11ty/eleventy'], { start: 'eleventy --serve', build: 'eleventy' }),
    is: site('eleventy', '_site'),
  },
  {
    name: 'eleventy that names its output',
    files: {
      ...npm(['@11ty/eleventy'], { build: 'eleventy' }),
      'eleventy.config.js': "export default () => ({ dir: { input: 'src', output: 'public' } })",
    },
    is: site('eleventy', 'public'),
  },
  {
    name: 'eleventy with an option for its output',
    files: npm(['@11ty/eleventy'], { build: 'npx @11ty/eleventy --output=www' }),
    is: site('eleventy', 'www'),
  },
  {
    name: 'vitepress at the root',
    files: {
      ...npm(['vitepress'], { 'docs:dev': 'vitepress dev', 'docs:build': 'vitepress build' }),
      '.vitepress/config.mts': 'export default {}',
      'index.md': '# x',
    },
    is: site('vitepress', '.vitepress/dist', 'npm run docs:build'),
  },
  {
    name: 'vitepress in docs',
    files: {
      ...npm(['vitepress', 'vue'], { 'docs:build': 'vitepress build docs' }),
      'docs/.vitepress/config.ts': 'export default {}',
      'docs/index.md': '# x',
    },
    is: site('vitepress', 'docs/.vitepress/dist', 'npm run docs:build'),
  },
  {
    name: 'vuepress',
    files: { ...npm(['vuepress'], { dev: 'vuepress dev docs', build: 'vuepress build docs' }), 'docs/README.md': '# x' },
    is: site('vuepress', 'docs/.vuepress/dist'),
  },
  {
    name: 'hexo',
    files: { ...npm(['hexo', 'hexo-cli'], { build: 'hexo generate', server: 'hexo server' }), '_config.yml': 'title: x' },
    is: site('hexo', 'public'),
  },
  {
    name: 'ember',
    files: {
      ...npm(['ember-cli', 'ember-source'], { start: 'ember serve', build: 'ember build --environment=production' }),
      'app/index.html': page,
    },
    is: site('ember', 'dist'),
  },
  {
    name: 'umi',
    files: { ...npm(['umi'], { start: 'umi dev', build: 'umi build' }), '.umirc.ts': 'export default {}' },
    is: site('umi', 'dist'),
  },
  {
    name: 'umi max with an output of its own',
    files: {
      ...npm(['@umijs/max'], { start: 'max dev', build: 'max build' }),
      '.umirc.ts': "export default { outputPath: 'site' }",
    },
    is: site('umi', 'site'),
  },
  {
    name: 'stencil',
    files: npm(['@stencil/core'], { start: 'stencil build --dev --watch --serve', build: 'stencil build' }),
    is: site('stencil', 'www'),
  },
  {
    name: 'preact-cli',
    files: {
      ...npm(['preact-cli', 'preact'], { start: 'preact watch', build: 'preact build' }),
      'src/index.js': 'export default 1',
    },
    is: site('preact-cli', 'build'),
  },
  {
    name: 'gridsome',
    files: npm(['gridsome'], { develop: 'gridsome develop', build: 'gridsome build' }),
    is: site('gridsome', 'dist'),
  },
  {
    name: 'quasar',
    files: npm(['quasar', '@quasar/app-vite'], { dev: 'quasar dev', build: 'quasar build' }),
    is: site('quasar', 'dist/spa'),
  },
  {
    name: 'parcel',
    files: { ...npm(['parcel'], { start: 'parcel index.html', build: 'parcel build index.html' }), 'index.html': page },
    is: site('parcel', 'dist'),
  },
  {
    name: 'parcel with its page in src and no scripts',
    files: { ...npm(['parcel']), 'src/index.html': page },
    is: site('parcel', 'dist', 'npx --no-install parcel build src/index.html'),
  },
  {
    name: 'rsbuild',
    files: npm(['@rsbuild/core', 'react'], { dev: 'rsbuild dev', build: 'rsbuild build', start: 'rsbuild dev' }),
    is: site('rsbuild', 'dist'),
  },
  {
    name: 'webpack with its development server',
    files: {
      ...npm(['webpack', 'webpack-dev-server'], { start: 'webpack serve', build: 'webpack --mode production' }),
      'src/index.js': 'x',
    },
    is: site('webpack', 'dist'),
  },
  {
    name: 'sveltekit with adapter-static that writes elsewhere',
    files: {
      ...npm(['@sveltejs/kit', '@sveltejs/adapter-static'], { build: 'vite build' }),
      'svelte.config.js': "export default { kit: { adapter: adapter({ pages: 'docs', fallback: '404.html' }) } }",
    },
    is: site('sveltekit', 'docs'),
  },
  {
    name: 'rollup that writes its bundle beside the page',
    files: {
      ...npm(['rollup', 'sirv-cli'], { start: 'sirv public & rollup --config --watch', build: 'rollup --config' }),
      'public/index.html': page,
    },
    is: site('rollup', 'public'),
  },
  {
    name: 'rollup beside a server',
    files: { ...npm(['rollup'], { start: 'node server.js', build: 'rollup --config' }), 'public/index.html': page },
    is: { framework: 'node', type: 'app', startCommand: 'node server.js' },
  },
  {
    name: 'create-react-app',
    files: {
      ...npm(['react', 'react-scripts'], { start: 'react-scripts start', build: 'react-scripts build' }),
      'public/index.html': page,
    },
    is: site('create-react-app', 'build'),
  },
  {
    name: 'vue-cli',
    files: npm(['vue', '@vue/cli-service'], { serve: 'vue-cli-service serve', build: 'vue-cli-service build' }),
    is: site('vue-cli', 'dist'),
  },
  {
    name: 'vite with React',
    files: { ...npm(['vite', 'react'], { dev: 'vite', build: 'vite build', preview: 'vite preview' }), 'index.html': page },
    is: site('vite', 'dist'),
  },
  {
    name: 'vite that starts its preview',
    files: { ...npm(['vite'], { start: 'vite preview', build: 'vite build' }), 'index.html': page },
    is: site('vite', 'dist'),
  },
  {
    name: 'gatsby',
    files: npm(['gatsby', 'react'], { start: 'gatsby develop', build: 'gatsby build' }),
    is: site('gatsby', 'public'),
  },
  { name: 'astro', files: npm(['astro'], { start: 'astro dev', build: 'astro build' }), is: site('astro', 'dist') },
  {
    name: 'next that exports',
    files: {
      ...npm(['next', 'react'], { build: 'next build', start: 'next start' }),
      'next.config.js': "module.exports = { output: 'export' }",
    },
    is: site('nextjs', 'out'),
  },
  {
    name: 'expo for the web',
    files: npm(['expo', 'expo-router', 'react-native', 'react-native-web'], { start: 'expo start', web: 'expo start --web' }),
    is: site('expo', 'dist', 'npx --no-install expo export --platform web'),
  },
  {
    name: 'hugo',
    files: { 'hugo.toml': 'baseURL = "/"', 'content/_index.md': '# x' },
    is: site('hugo', 'public', 'hugo --minify'),
  },
  {
    name: 'hugo by its old name',
    files: { 'config.toml': 'baseURL = "https://example.test/"\ntheme = "x"', 'content/a.md': 'x' },
    is: site('hugo', 'public', 'hugo --minify'),
  },
  {
    name: 'hugo with a package.json for its styles',
    files: { ...npm(['tailwindcss']), 'hugo.yaml': 'baseURL: /', 'content/a.md': 'x' },
    is: { framework: 'hugo', type: 'static', outputDirectory: 'public', installCommand: 'npm ci', buildCommand: 'hugo --minify' },
  },
  {
    name: 'hugo with its settings in a folder, and modules of Go',
    files: { 'config/_default/hugo.yaml': 'baseURL: /', 'go.mod': 'module example.com/site\n', 'content/a.md': 'x' },
    is: site('hugo', 'public', 'hugo --minify'),
  },
  {
    name: 'hugo with its settings in a folder, by their old name',
    files: { 'config/_default/config.toml': 'baseURL = "/"', 'content/a.md': 'x' },
    is: site('hugo', 'public', 'hugo --minify'),
  },
  {
    name: 'zola',
    files: { 'config.toml': 'base_url = "https://example.test"', 'content/_index.md': '', 'templates/index.html': page },
    is: site('zola', 'public', 'zola build'),
  },
  {
    name: 'mdbook',
    files: { 'book.toml': '[book]\ntitle = "x"', 'src/SUMMARY.md': '# Summary' },
    is: site('mdbook', 'book', 'mdbook build'),
  },
  {
    name: 'jekyll',
    files: {
      Gemfile: "source 'https://example.test'\ngem 'jekyll'",
      'Gemfile.lock': '',
      '_config.yml': 'title: x',
      'index.md': 'x',
    },
    is: site('jekyll', '_site', 'bundle exec jekyll build'),
  },
  {
    name: 'jekyll without a Gemfile',
    files: { '_config.yml': 'title: x', '_posts/2020-01-01-a.md': 'x' },
    is: site('jekyll', '_site', 'jekyll build'),
  },
  {
    name: 'pages of GitHub',
    files: { Gemfile: "gem 'github-pages', group: :jekyll_plugins", '_config.yml': 'theme: x' },
    is: site('jekyll', '_site', 'bundle exec jekyll build'),
  },
  {
    name: 'middleman',
    files: { Gemfile: "gem 'middleman'", 'Gemfile.lock': '', 'config.rb': '' },
    is: site('middleman', 'build', 'bundle exec middleman build'),
  },
  {
    name: 'mkdocs',
    files: { 'mkdocs.yml': 'site_name: x', 'requirements.txt': 'mkdocs==1.6', 'docs/index.md': 'x' },
    is: site('mkdocs', 'site', 'mkdocs build'),
  },
  {
    name: 'plain pages',
    files: { 'index.html': page, 'style.css': '' },
    is: { framework: 'static', type: 'static', outputDirectory: '.', buildCommand: null },
  },
  {
    name: 'plain pages in public',
    files: { 'public/index.html': page, 'README.md': 'x' },
    is: { framework: 'static', type: 'static', outputDirectory: 'public' },
  },
]
