import { lookUp } from '../../tests/kit/machine.ts'
import { htmlPage, type Kind, manifest } from './kind.ts'

const answering = (says: string) =>
  `import { createServer } from 'node:http'\ncreateServer((_, answer) => answer.end(${JSON.stringify(says)})).listen(process.env.PORT ?? 3000)`
const image = lookUp('nodeImage')
const nodeImage = 'value' in image ? image.value : 'node:24'

/** Kinds defined by their structure rather than by their language or framework. */
export const others: readonly Kind[] = [
  {
    name: 'npm-build',
    says: 'kind npm-build',
    files: {
      'package.json': manifest('npm-build', {
        scripts: { build: 'node build.js', start: 'node out/server.js' },
        needs: { ms: '2.1.3' },
      }),
      'build.js': `import { mkdirSync, writeFileSync } from 'node:fs'\nimport ms from 'ms'\nmkdirSync('out', { recursive: true })\nwriteFileSync('out/server.js', \`import { createServer } from 'node:http'\ncreateServer((_, answer) => answer.end('kind npm-build ' + \${ms('1s')})).listen(process.env.PORT)\`)`,
    },
  },
  {
    name: 'node-22',
    says: 'kind node-22 v22.',
    files: {
      'package.json': manifest('node-22', { scripts: { start: 'node server.js' } }),
      '.nvmrc': '22\n',
      'server.js': `import { createServer } from 'node:http'\ncreateServer((_, answer) => answer.end('kind node-22 ' + process.version)).listen(process.env.PORT)`,
    },
    only: 'process',
  },
  {
    name: 'monorepo-app',
    says: 'kind monorepo-app from its sibling',
    files: {
      'package.json': { name: 'mono', private: true, workspaces: ['apps/*', 'packages/*'] },
      'apps/web/package.json': manifest('web', { scripts: { start: 'node server.js' }, needs: { '@repo/words': '*' } }),
      'apps/web/server.js': `import { createServer } from 'node:http'\nimport { words } from '@repo/words'\ncreateServer((_, answer) => answer.end(words)).listen(process.env.PORT)`,
      'packages/words/package.json': manifest('@repo/words', { scripts: { build: 'node build.js' }, main: 'dist/index.js' }),
      'packages/words/build.js': `import { mkdirSync, writeFileSync } from 'node:fs'\nmkdirSync('dist', { recursive: true })\nwriteFileSync('dist/index.js', "export const words = 'kind monorepo-app from its sibling'")`,
    },
  },
  {
    name: 'root-directory',
    says: 'kind root-directory',
    files: {
      'README.md': 'x',
      'services/api/package.json': manifest('api', { scripts: { start: 'node server.js' } }),
      'services/api/server.js': answering('kind root-directory'),
      'services/web/index.html': 'other',
    },
    settings: { rootDirectory: 'services/api' },
  },
  {
    name: 'procfile',
    says: 'kind procfile',
    files: {
      Procfile: 'web: node app.js\n',
      'package.json': manifest('procfile', { scripts: {} }),
      'app.js': answering('kind procfile'),
    },
  },
  {
    name: 'python-http',
    says: 'kind python-http',
    files: {
      'main.py': `import os\nfrom http.server import BaseHTTPRequestHandler, HTTPServer\n\n\nclass Page(BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200)\n        self.end_headers()\n        self.wfile.write(b'kind python-http')\n\n\nHTTPServer(('0.0.0.0', int(os.environ.get('PORT', 8000))), Page).serve_forever()\n`,
      'requirements.txt': '',
    },
  },
  {
    name: 'python-procfile',
    says: 'kind python-procfile',
    files: {
      Procfile: 'web: python3 serve.py\n',
      'serve.py': `import os\nfrom wsgiref.simple_server import make_server\n\n\ndef app(environ, start_response):\n    start_response('200 OK', [('content-type', 'text/plain')])\n    return [b'kind python-procfile']\n\n\nmake_server('0.0.0.0', int(os.environ['PORT']), app).serve_forever()\n`,
    },
  },
  {
    name: 'render-yaml',
    says: 'kind render-yaml',
    files: {
      'render.yaml':
        'services:\n  - type: web\n    name: api\n    runtime: node\n    buildCommand: node -e 0\n    startCommand: node api.js\n    healthCheckPath: /healthz\n',
      'package.json': manifest('render', { scripts: {} }),
      'api.js': answering('kind render-yaml'),
    },
  },
  {
    name: 'dockerfile',
    says: 'kind dockerfile',
    only: 'docker',
    files: {
      Dockerfile: `FROM ${nodeImage}\nWORKDIR /app\nCOPY . .\nEXPOSE 8080\nENV PORT=8080\nCMD ["node", "server.mjs"]\n`,
      'server.mjs': answering('kind dockerfile'),
    },
  },
  {
    name: 'compose-two-services',
    says: 'kind compose-two-services',
    only: 'docker',
    files: {
      'compose.yaml': `services:\n  web:\n    build: .\n    ports: ["80:8080"]\n    depends_on: [words]\n  words:\n    build: .\n    command: ["node", "words.mjs"]\n    ports: ["9000:9000"]\n`,
      Dockerfile: `FROM ${nodeImage}\nWORKDIR /app\nCOPY . .\nENV PORT=8080\nCMD ["node", "web.mjs"]\n`,
      'web.mjs': `import { createServer } from 'node:http'\ncreateServer(async (_, answer) => answer.end(await (await fetch('http://words:9000/')).text())).listen(8080)`,
      'words.mjs': `import { createServer } from 'node:http'\ncreateServer((_, answer) => answer.end('kind compose-two-services')).listen(9000)`,
    },
    also: { service: 'words', says: 'kind compose-two-services' },
  },
  {
    name: 'serve-dist',
    says: 'kind serve-dist',
    files: {
      'package.json': manifest('serve-dist', { scripts: { start: 'serve -s public' }, needs: { serve: '^14.2.0' } }),
      'public/index.html': htmlPage('kind serve-dist'),
    },
  },
]
