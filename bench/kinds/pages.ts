import { htmlPage, type Kind, manifest } from './kind.ts'

/** A Vite project whose page shows a text that only the build can assemble. */
const vite = (
  name: string,
  { needs = {}, tools = {}, files = {} }: { needs?: object; tools?: object; files?: Kind['files'] } = {},
): Kind => ({
  name,
  says: `kind ${name}`,
  files: {
    'package.json': manifest(name, {
      scripts: { dev: 'vite', build: 'vite build', preview: 'vite preview' },
      needs,
      tools: { vite: '^6.0.0', ...tools },
    }),
    'index.html': htmlPage(`kind ${name}`, '<div id="app"></div><script type="module" src="/src/main.js"></script>'),
    'src/main.js': `document.querySelector('#app').textContent = 'here'`,
    ...files,
  },
})

/** Sites that are built and served as files. */
export const pages: readonly Kind[] = [
  { name: 'static-html', says: 'kind static-html', files: { 'index.html': htmlPage('kind static-html') } },
  {
    name: 'static-rules',
    says: 'kind static-rules',
    path: '/app/deep/link',
    files: {
      'index.html': htmlPage('kind static-rules'),
      'vercel.json': { rewrites: [{ source: '/app/(.*)', destination: '/index.html' }] },
    },
  },
  {
    name: 'static-build',
    says: 'kind static-build',
    files: {
      'package.json': manifest('static-build', { scripts: { build: 'node build.js' }, tools: { marked: '^14.0.0' } }),
      'build.js': `import { mkdirSync, writeFileSync } from 'node:fs'\nimport { marked } from 'marked'\nmkdirSync('dist', { recursive: true })\nwriteFileSync('dist/index.html', marked.parse('# kind static-build'))`,
    },
    settings: { type: 'static', outputDirectory: 'dist' },
  },
  vite('vite'),
  vite('vite-svelte', {
    tools: { svelte: '^5.0.0', '@sveltejs/vite-plugin-svelte': '^5.0.0' },
    files: {
      'vite.config.js': `import { svelte } from '@sveltejs/vite-plugin-svelte'\nexport default { plugins: [svelte()] }`,
      'src/App.svelte': `<p>here</p>`,
      'src/main.js': `import { mount } from 'svelte'\nimport App from './App.svelte'\nmount(App, { target: document.querySelector('#app') })`,
    },
  }),
  vite('vite-vue', {
    needs: { vue: '^3.5.0' },
    tools: { '@vitejs/plugin-vue': '^5.2.0' },
    files: {
      'vite.config.js': `import vue from '@vitejs/plugin-vue'\nexport default { plugins: [vue()] }`,
      'src/App.vue': `<template><p>here</p></template>`,
      'src/main.js': `import { createApp } from 'vue'\nimport App from './App.vue'\ncreateApp(App).mount('#app')`,
    },
  }),
  vite('vite-react', {
    needs: { react: '^19.0.0', 'react-dom': '^19.0.0' },
    files: {
      'src/main.js': `import { createElement } from 'react'\nimport { createRoot } from 'react-dom/client'\ncreateRoot(document.querySelector('#app')).render(createElement('p', null, 'here'))`,
    },
  }),
  {
    name: 'astro',
    says: 'kind astro',
    files: {
      'package.json': manifest('astro', { scripts: { build: 'astro build' }, needs: { astro: '^5.0.0' } }),
      'src/pages/index.astro': `---\nconst words = ['kind', 'astro'].join(' ')\n---\n<h1>{words}</h1>`,
    },
  },
  {
    name: 'eleventy',
    says: 'kind eleventy',
    files: {
      'package.json': manifest('eleventy', { scripts: { build: 'eleventy' }, tools: { '@11ty/eleventy': '3.1.2' } }),
      'index.md': '# kind eleventy\n',
    },
  },
  {
    name: 'vitepress',
    says: 'kind vitepress',
    files: {
      'package.json': manifest('vitepress', {
        scripts: { 'docs:build': 'vitepress build docs' },
        tools: { vitepress: '^1.5.0' },
      }),
      'docs/index.md': '# kind vitepress\n',
    },
  },
]
