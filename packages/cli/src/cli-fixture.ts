import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { serve } from '../../../tests/kit/http-server.ts'
import { addCommands } from './commands/commands.ts'
import { newProgram, runProgram } from './program.ts'

export interface RecordedRequest {
  method: string
  /** The path below `/api`, with its query. */
  path: string
  headers: IncomingMessage['headers']
  /** The parsed body; a body that is not JSON is text. */
  body: unknown
  bytes: Buffer
}

export interface Answer {
  status?: number
  body?: unknown
}

export interface CliFixture extends AsyncDisposable {
  url: string
  /** An empty folder, which is also the current one. */
  folder: string
  requests: RecordedRequest[]
  berth(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }>
}

/** Runs the commands in this process, with their own home folder. `answer` answers their requests on a loopback port. */
export async function cliFixture(answer: (request: RecordedRequest) => Answer = () => ({})): Promise<CliFixture> {
  const requests: RecordedRequest[] = []
  const server = await serve(async (request, response) => {
    const bytes = Buffer.concat(await request.toArray())
    const text = bytes.toString('utf8')
    const isJson = request.headers['content-type'] === 'application/json'
    const { method = '', url = '', headers } = request
    const recorded = { method, path: url.replace(/^\/api/, ''), headers, body: isJson ? JSON.parse(text) : text, bytes }
    requests.push(recorded)
    const { status = 200, body = { data: {} } } = answer(recorded)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  const location = mkdtempSync(join(tmpdir(), 'berth-cli-'))
  vi.stubEnv('XDG_CONFIG_HOME', join(location, 'config'))
  vi.stubEnv('BERTH_URL', server.url)
  vi.stubEnv('BERTH_TOKEN', 'brt_test')
  vi.stubEnv('NO_COLOR', '1')
  const cwd = vi.spyOn(process, 'cwd').mockReturnValue(location)
  return {
    url: server.url,
    folder: location,
    requests,
    async berth(...args) {
      const written = { stdout: '', stderr: '' }
      const spies = (['stdout', 'stderr'] as const).map((name) =>
        vi.spyOn(process[name], 'write').mockImplementation((text) => {
          written[name] += String(text)
          return true
        }),
      )
      const program = newProgram()
      addCommands(program)
      try {
        const code = (await runProgram(program, args)) ?? 0
        return { code, ...written }
      } finally {
        for (const spy of spies) spy.mockRestore()
      }
    },
    async [Symbol.asyncDispose]() {
      cwd.mockRestore()
      vi.unstubAllEnvs()
      await server.close()
      rmSync(location, { recursive: true })
    },
  }
}
