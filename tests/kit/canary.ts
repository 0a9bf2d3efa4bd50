import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openEngine } from '../../packages/server/src/drivers/runtime/docker/engine.ts'
import { readIdentity } from '../../packages/server/src/drivers/runtime/docker/identity.ts'
import { partOf } from './machine.ts'

// Searches for secrets in processes, files and Docker. Each returns the places it found, so that a test can first prove the search
// with a text that must be found.

/** Returns the token itself, and its encodings in an `Authorization: Basic` header (base64 of `user:token`). */
export const encodedForms = (token: string): string[] => [
  token,
  ...['x-access-token', 'oauth2', 'git', ''].map((user) => Buffer.from(`${user}:${token}`).toString('base64').replace(/=+$/, '')),
]

/** Returns `<pid> <command line>` of each process on the machine whose arguments or environment contain one of the texts. */
export async function processesWith(texts: readonly string[]): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) => {
      const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
      const [argv, environ] = await Promise.all([read('cmdline'), read('environ')])
      return texts.some((text) => argv.includes(text) || environ.includes(text)) ? [`${pid} ${argv.replaceAll('\0', ' ')}`] : []
    }),
  )
  return found.flat()
}

/** Returns the paths of files below the folder that contain one of the texts. Files removed during the search are skipped. */
export async function filesWith(folder: string, texts: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for await (const path of filesBelow(folder)) {
    const content = await readFile(path).catch(unlessRemoved(Buffer.alloc(0)))
    if (texts.some((text) => content.includes(text))) found.push(path)
  }
  return found
}

/** Lists the files below the folder. The instance is running, so an entry may be removed during the walk: it is skipped. */
async function* filesBelow(folder: string): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(unlessRemoved([]))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesBelow(path)
    else if (entry.isFile()) yield path
  }
}

const unlessRemoved =
  <Value>(value: Value) =>
  (error: NodeJS.ErrnoException): Value => {
    if (error.code !== 'ENOENT') throw error
    return value
  }

/** Returns the images and containers of the instance on Docker whose layers, history or settings contain one of the texts. */
export async function dockerObjectsWith(dataFolder: string, texts: readonly string[]): Promise<string[]> {
  const engine = openEngine(partOf('docker'))
  const filters = { label: [`berth.instance=${readIdentity(join(dataFolder, 'docker')).instance}`] }
  const has = (value: unknown) => texts.some((text) => JSON.stringify(value).includes(text))
  const found: string[] = []
  for (const { Id } of await engine.listContainers({ all: true, filters }))
    if (has(await engine.getContainer(Id).inspect())) found.push(`container ${Id}`)
  for (const { Id } of await engine.listImages({ filters })) {
    const image = engine.getImage(Id)
    if (has([await image.inspect(), await image.history()])) found.push(`image ${Id}`)
    if (await isInStream(await image.get(), texts)) found.push(`layers ${Id}`)
  }
  return found
}

async function isInStream(stream: NodeJS.ReadableStream, texts: readonly string[]): Promise<boolean> {
  const longest = Math.max(...texts.map((text) => Buffer.byteLength(text)))
  let isFound = false
  let rest = Buffer.alloc(0)
  for await (const piece of stream as AsyncIterable<Buffer>) {
    const window = Buffer.concat([rest, piece])
    isFound ||= texts.some((text) => window.includes(text))
    rest = window.subarray(-longest)
  }
  return isFound
}
