import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'

const run = promisify(execFile)

/** A service as `docker compose config` prints it. */
// biome-ignore lint/suspicious/noExplicitAny: the tool's own output, compared field by field
export type Written = Record<string, any>

export interface WrittenFile {
  /** The tool that read the file. */
  tool: string
  services: Record<string, Written>
  networks: Record<string, Written>
}

/** Returns the file with variables, defaults and `env_file` resolved by the machine's Compose tool: the plugin, or else version 1. */
export async function writtenIn(folder: string, file: string): Promise<WrittenFile> {
  const read = (program: string, before: string[], name: string) =>
    run(program, [...before, '--file', name, '--project-name', 'written', 'config'], {
      cwd: folder,
      maxBuffer: 1e8,
      env: { PATH: process.env.PATH },
    })
  const plugin = await read('docker', ['compose'], file).catch(() => null)
  const { stdout } = plugin ?? (await withoutName(folder, file, (name) => read('docker-compose', [], name)))
  // The tool doubles each dollar sign, so that its output can be parsed again.
  const { services, networks } = parse(stdout.replaceAll('$$', '$')) as {
    services: Record<string, Written>
    networks?: Record<string, Written> | null
  }
  return { tool: plugin ? 'docker compose' : 'docker-compose 1', services, networks: networks ?? {} }
}

/** Adapts the file for version 1, which rejects a top-level `name` and reads `disable: false` of a health check as true. */
async function withoutName<T>(folder: string, file: string, use: (file: string) => Promise<T>): Promise<T> {
  const copy = join(folder, `.written-${file}`)
  await writeFile(
    copy,
    (await readFile(join(folder, file), 'utf8')).replace(/^name:.*$/m, '').replace(/^ +healthcheck:\n +disable: false$/gm, ''),
  )
  try {
    return await use(copy)
  } finally {
    await rm(copy)
  }
}

/** Splits a command line by shell quoting into the arguments of a program. */
export async function messageOf(command: string | string[] | null | undefined): Promise<string[] | null> {
  if (command === null || command === undefined) return null
  if (Array.isArray(command)) return command.map(String)
  // The same splitter that docker-compose, a Python program, uses.
  const split = 'import shlex, sys; sys.stdout.write("".join(word + "\\0" for word in shlex.split(sys.argv[1])))'
  const { stdout } = await run('python3', ['-c', split, command])
  return stdout.split('\0').slice(0, -1)
}

const units: Record<string, number> = { b: 1, k: 1024, kb: 1024, m: 1024 ** 2, mb: 1024 ** 2, g: 1024 ** 3, gb: 1024 ** 3 }

export function bytesOf(size: string | number): number {
  const [, amount = '0', unit = 'b'] = /^([\d.]+)\s*([a-z]*)$/i.exec(String(size)) ?? []
  return Math.round(Number(amount) * (units[(unit || 'b').toLowerCase()] ?? 1))
}

const times: Record<string, number> = { us: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 }

/** Duration in nanoseconds, as the engine stores it. */
export const durationOf = (text: string): number =>
  [...String(text).matchAll(/([\d.]+)(us|ms|s|m|h)/g)].reduce((sum, [, amount, unit]) => sum + Number(amount) * times[unit!]!, 0)

export const pairsOf = (value: unknown): Record<string, string> =>
  Object.fromEntries(
    Array.isArray(value)
      ? value.map((one) => {
          const [name = '', ...rest] = String(one).split('=')
          return [name, rest.join('=')]
        })
      : Object.entries((value ?? {}) as Record<string, unknown>).flatMap(([name, one]) =>
          one === null ? [] : [[name, String(one)]],
        ),
  )
