import { describe, expect, test } from 'vitest'
import { Folder } from './folder.ts'
import { portInCode, portInCommand } from './port-hints.ts'
import { temporaryFolder } from './temporary-folder.ts'

const inCode = async (text: string) => {
  const folder = await Folder.open(await temporaryFolder({ 'main.js': text }), { maxFiles: 10 })
  const hint = await portInCode(folder, 'main.js')
  return hint && [hint.port, hint.isFixed]
}

describe('code that reads PORT with a fallback', () => {
  test.each([
    'app.listen(process.env.PORT || 4000)',
    'const port = process.env.PORT ?? 4000',
    "const port = process.env['PORT'] || '4000'",
    'const port = Number(process.env.PORT) || 4000',
    'const port = parseInt(process.env.PORT, 10) || 4000',
    'const PORT = process.env.PORT || 4000',
    'Deno.serve({ port: Number(Deno.env.get("PORT") ?? "4000") })',
    'port = int(os.environ.get("PORT", 4000))',
    "port = os.getenv('PORT', '4000')",
    'port = int(os.environ.get("PORT") or 4000)',
  ])('%s', async (text) => expect(await inCode(text)).toEqual([4000, false]))
})

describe('code with a hard-coded port', () => {
  test.each([
    'app.listen(4000)',
    'app.listen( 4000, () => {})',
    "app.listen({ port: 4000, host: '::' })",
    'const PORT = 4000\napp.listen(PORT)',
    'const port = 4000',
    'http.ListenAndServe(":4000", nil)',
    'log.Fatal(app.Listen(":4000"))',
    'r.Run("0.0.0.0:4000")',
    'e.Logger.Fatal(e.Start(":4000"))',
    'server := &http.Server{Addr: ":4000", Handler: mux}',
  ])('%s', async (text) => expect(await inCode(text)).toEqual([4000, true]))
})

describe('code without a port', () => {
  test.each([
    'app.listen(process.env.PORT)',
    'port := os.Getenv("PORT")\nif port == "" { log.Fatal(app.Listen(":4000")) }',
    'r.Run()',
    'parseInt(process.env.PORT, 10)',
    'const DB_PORT = process.env.DB_PORT || 5432',
    'app.listen(99999)',
    'listen(port)',
    '',
  ])('%s', async (text) => expect(await inCode(text)).toBeNull())
})

test.each([
  ['next start -p 4100', 4100],
  ['next start --port=4100', 4100],
  ['gunicorn app:app --bind 0.0.0.0:4100', 4100],
  ['gunicorn -b :4100 app:app', 4100],
  ['python -m http.server 4100', 4100],
  ['python3 -m http.server --directory=public 4100', 4100],
  ['python -m http.server', null],
  ['pip install -b /tmp/4100', null],
  ['serve --port 4100 -s', 4100],
  ['PORT=4100 node server.js', 4100],
  ['cross-env PORT=4100 node server.js', 4100],
  ['next start -p $PORT', null],
  ['node server.js', null],
])('a port in a command: %s', (command, port) => expect(portInCommand(command, 'package.json')?.port ?? null).toBe(port))
