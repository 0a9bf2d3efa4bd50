import { expect, test } from 'vitest'
import { detectFolder } from './detect-folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

const npm = (dependencies: Record<string, string>, scripts: Record<string, string> = {}) => ({ name: 'x', scripts, dependencies })
const spring =
  '<project><artifactId>a</artifactId><version>1</version><parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId></parent></project>'

test.each<[string, string, string, Record<string, string | object>]>([
  [
    'a back end whose package.json makes its assets',
    'django',
    'app',
    { 'manage.py': '', 'requirements.txt': 'django', 'package.json': npm({ vite: '6' }), 'index.html': '' },
  ],
  [
    'a back end with pages of Angular beside it',
    'spring-boot',
    'app',
    { 'pom.xml': spring, 'package.json': npm({ '@angular/core': '19' }) },
  ],
  [
    'a program in Go that uses Node for styles',
    'go',
    'app',
    { 'go.mod': 'module x\n', 'main.go': 'package main\n', 'package.json': npm({ tailwindcss: '4' }, { start: 'node x' }) },
  ],
  ['pages with a function in Python', 'nextjs', 'app', { 'package.json': npm({ next: '15' }), 'requirements.txt': 'fastapi' }],
  [
    'pages with a native part below',
    'nextjs',
    'app',
    { 'package.json': npm({ next: '15' }), 'native/windows/app.csproj': '<Project Sdk="Microsoft.NET.Sdk"></Project>' },
  ],
  [
    'a server that serves its own pages',
    'express',
    'app',
    { 'package.json': npm({ express: '4', 'react-scripts': '5' }, { start: 'node server.js' }) },
  ],
  [
    'pages with a server only for development',
    'create-react-app',
    'static',
    { 'package.json': npm({ express: '4', 'react-scripts': '5' }, { start: 'react-scripts start' }) },
  ],
  [
    'an app with packages beside it',
    'nextjs',
    'app',
    {
      'package.json': { ...npm({ next: '15' }), workspaces: ['packages/*'] },
      'app/page.js': '',
      'packages/a/package.json': npm({ next: '15' }),
    },
  ],
  [
    'a workspace of libraries with an app at the root',
    'express',
    'app',
    { 'package.json': { ...npm({ express: '4' }), workspaces: ['packages/*'] }, 'packages/a/package.json': npm({}) },
  ],
  ['pages in PHP with tools of Node', 'php', 'app', { 'index.php': '', 'package.json': npm({ prettier: '3' }) }],
  [
    'plain pages with tools of Node',
    'static',
    'static',
    { 'index.html': '', 'package.json': npm({ prettier: '3' }, { lint: 'prettier .' }) },
  ],
  [
    'a library built with Vite',
    'node',
    'app',
    {
      'package.json': npm({ vite: '6' }, { build: 'vite build' }),
      'vite.config.js': 'export default { build: { lib: { entry: "x" } } }',
    },
  ],
  [
    'an image of what Compose does not build',
    'dockerfile',
    'app',
    { Dockerfile: 'FROM a\nEXPOSE 80\n', 'compose.yaml': 'services: { db: { image: postgres } }' },
  ],
  [
    'a Compose file that builds the image',
    'compose',
    'services',
    { Dockerfile: 'FROM a\nEXPOSE 80\n', 'compose.yaml': 'services: { web: { build: . } }' },
  ],
  [
    'a Compose file that builds what is not there',
    'node',
    'app',
    { 'index.js': '', 'package.json': npm({}, { start: 'node .' }), 'compose.yaml': 'services: { web: { build: ./gone } }' },
  ],
])('%s: %s', async (_, framework, type, files) => {
  expect(await detectFolder(await temporaryFolder(files))).toMatchObject({ framework, type })
})

test.each([
  ['vite', 'npx --no-install next start'],
  ['vite --host', 'npx --no-install next start'],
  ['vite preview', 'npx --no-install next start'],
  ['NODE_ENV=development nodemon index.js', 'npx --no-install next start'],
  ['cross-env A=1 next dev -p 3000', 'npx --no-install next start'],
  ['nest start', 'npx --no-install next start'],
  ['vite build && node server.js', 'npm run start'],
  ['vite-node server.ts', 'vite-node server.ts'],
  ['nuxt start', 'nuxt start'],
  ['NODE_ENV=production node index.js', 'npm run start'],
  ['next start', 'next start'],
])('with the start script %s the start command is %s', async (start, command) => {
  const { startCommand } = await detectFolder(await temporaryFolder({ 'package.json': npm({ next: '15' }, { start }) }))
  expect(startCommand).toBe(command)
})

test('without Docker a Compose file of one service that builds the project is left out with its Dockerfile; others are kept', async () => {
  const app = { 'package.json': npm({}, { start: 'node .' }), Dockerfile: 'FROM node\nEXPOSE 80\n' }
  const detected = async (compose: string) =>
    detectFolder(await temporaryFolder({ ...app, 'compose.yaml': compose }), { without: ['dockerfile'] })
  expect(await detected('services: { web: { build: { context: ., target: dev } } }')).toMatchObject({
    framework: 'node',
    startCommand: 'node .',
    unsupportedFramework: 'compose',
    warnings: expect.arrayContaining(['its Compose file is not used: that needs Docker']),
  })
  const chosen = { without: ['dockerfile'], framework: 'compose' }
  const folder = await temporaryFolder({ ...app, 'compose.yaml': 'services: { web: { build: . } }' })
  expect(await detectFolder(folder, chosen)).toMatchObject({ framework: 'node', unsupportedFramework: 'compose' })
  expect(await detected('services: { web: { build: . }, db: { image: postgres } }')).toMatchObject({ framework: 'compose' })
})
