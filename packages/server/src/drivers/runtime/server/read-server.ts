import type { ServerLink } from '../../shell/ssh/server-link.ts'
import { ServerUnreachable } from '../../shell/ssh/server-unreachable.ts'
import { Allowance, AnswerTooLarge, AnswerTooLong, boundedGet, maxItems, RequestRefused } from './bounded-get.ts'
import { linkAgent } from './link-agent.ts'
import { flag, list, record, text, words } from './plain-values.ts'
import { readContainer, readImage } from './read-container.ts'
import type { ReadDocker, ReadNetwork, ReadVolume, ServerReader } from './server-reader.ts'

/** Limit per container or image, which usually has about 10 KB. Small because a record is processed in one go. */
const recordBytes = 96 * 1024
const pageBytes = 1024 * 1024
const versionBytes = 64 * 1024
/** Limit of all responses together: a server with a thousand large containers must not exhaust memory. */
const wholeBytes = 4 * 1024 * 1024
/** Limit of received bytes, including discarded responses. */
const receivedBytes = 256 * 1024 * 1024
const wholeMs = 60_000
const atOnce = 16
const maxContainers = 2_000
const pageSize = 100

/** See `ServerReader`. */
export function createServerReader(link: ServerLink): ServerReader {
  const agent = linkAgent(link)
  return {
    files: link.files,
    ping: (abort) => within(abort, async (get) => ({ version: await versionOf(get) })),
    readDocker: (abort) => within(abort, readAll),
  }

  async function within<T>(abort: AbortSignal, read: (get: Get) => Promise<T>): Promise<T> {
    const limit = AbortSignal.any([abort, AbortSignal.timeout(wholeMs)])
    const allowance = new Allowance({ kept: wholeBytes, received: receivedBytes })
    try {
      return await read((path, read, maxBytes = recordBytes) => boundedGet(path, agent, { maxBytes, allowance, read }, limit))
    } catch (error) {
      abort.throwIfAborted()
      if (error instanceof ServerUnreachable) throw error
      const why = limit.aborted ? `it was not read within ${wholeMs / 1000} s` : (error as Error).message
      throw new ServerUnreachable('unreachable', `The Docker of the server cannot be read: ${why}`, { cause: error })
    }
  }
}

/** Requests a path and keeps only what `read` extracts from the response. */
type Get = <T>(path: string, read: (answer: unknown) => T, maxBytes?: number) => Promise<T>

const versionOf = (get: Get) => get('/version', (answer) => text(record(answer).Version), versionBytes)

async function readAll(get: Get): Promise<ReadDocker> {
  const warnings: string[] = []
  const version = await versionOf(get)
  const ids = await listContainers(get, warnings)
  const listOf = <T>(what: 'volumes' | 'networks', read: (answer: unknown) => T[]) =>
    unlessTooLong(what, () => get(`/${what}`, read, pageBytes), warnings)
  const [containers, volumes, networks] = await Promise.all([
    each(ids, (id) => get(`/containers/${id}/json`, readContainer), 'container', warnings),
    listOf('volumes', (answer) => atMost(record(answer).Volumes, 'volumes', warnings).map(readVolume)),
    listOf('networks', (answer) => atMost(answer, 'networks', warnings).map(readNetwork)),
  ])
  const imageIds = [...new Set(containers.map(({ imageId }) => imageId))].filter((id) => /^sha256:[0-9a-f]{64}$/.test(id))
  const images = await each(imageIds, (id) => get(`/images/${id}/json`, readImage), 'image', warnings)
  return { version, containers, volumes, networks, images: new Map(images.map((image) => [image.id, image])), warnings }
}

function readVolume(value: unknown): ReadVolume {
  const { Name, Driver, Labels, Options } = record(value)
  return { name: text(Name), driver: text(Driver), labels: words(Labels), options: words(Options) }
}

function readNetwork(value: unknown): ReadNetwork {
  const { Name, Driver, Labels, Internal } = record(value)
  return { name: text(Name), driver: text(Driver), labels: words(Labels), internal: flag(Internal) }
}

/**
 * Lists container ids, newest first, page by page. A page that is too long is requested again at half the size, down to a
 * single container. If that container's record is still too long, its id is read from the first bytes, and the next page
 * continues after it.
 */
async function listContainers(get: Get, warnings: string[]): Promise<string[]> {
  const ids: string[] = []
  let before: string | null = null
  for (let size = pageSize; ids.length < maxContainers; ) {
    const filters: string = before === null ? '' : `&filters=${encodeURIComponent(JSON.stringify({ before: [before] }))}`
    try {
      const page: string[] = await get(`/containers/json?all=1&limit=${size}${filters}`, idsIn, pageBytes)
      const fresh = page.filter((id) => isId(id) && !ids.includes(id))
      ids.push(...fresh)
      if (page.length < size || fresh.length === 0) return ids
      before = fresh.at(-1) as string
      size = pageSize
    } catch (error) {
      if (error instanceof RequestRefused && before !== null) {
        // The container that the page continues after was removed meanwhile. Continue after the one before it.
        if (ids.at(-1) === before) ids.pop()
        before = ids.at(-1) ?? null
        continue
      }
      if (!(error instanceof AnswerTooLong)) throw error
      const [, first] = /^\[\{"Id":"([0-9a-f]{64})"/.exec(error.head) ?? []
      if (size > 1) size = Math.floor(size / 2)
      else if (first && !ids.includes(first)) {
        warnings.push(`The container ${first.slice(0, 12)} is skipped: its description is larger than 1 MB`)
        before = first
        size = pageSize
      } else throw error
    }
  }
  warnings.push(`There are more than ${maxContainers} containers: the oldest are skipped`)
  return ids.slice(0, maxContainers)
}

const maxListed = maxItems - 1

function atMost(value: unknown, what: string, warnings: string[]): unknown[] {
  const items = list(value)
  if (items.length > maxListed) warnings.push(`There are more than ${maxListed} ${what}: the others are skipped`)
  return items.slice(0, maxListed)
}

const idsIn = (page: unknown): string[] => list(page).map((one) => text(record(one).Id))

/** Leaves out a list that is too long, with a warning: a label of fifty megabytes must not prevent the rest from being read. */
async function unlessTooLong<T>(what: string, read: () => Promise<T[]>, warnings: string[]): Promise<T[]> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof AnswerTooLong) && !(error instanceof AnswerTooLarge)) throw error
    warnings.push(`The ${what} are skipped: the response of the server is too large`)
    return []
  }
}

const isId = (id: string) => /^[0-9a-f]{64}$/.test(id)

/** Reads every id. Leaves out an item that was removed meanwhile, and an item that cannot be read with a warning. */
async function each<T>(ids: readonly string[], read: (id: string) => Promise<T>, kind: string, warnings: string[]): Promise<T[]> {
  const found = new Map<string, T>()
  const waiting = [...ids]
  let isCut = false
  const readOne = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift())
      try {
        found.set(id, await read(id))
      } catch (error) {
        if (error instanceof RequestRefused && error.status === 404) continue
        if (error instanceof AnswerTooLarge) {
          waiting.length = 0
          isCut = true
          continue
        }
        if (!(error instanceof RequestRefused) && !(error instanceof AnswerTooLong)) {
          // Stops the other readers.
          waiting.length = 0
          throw error
        }
        warnings.push(`The ${kind} ${id.replace(/^sha256:/, '').slice(0, 12)} is left out: ${error.message}`)
      }
  }
  await Promise.all(Array.from({ length: atOnce }, readOne))
  if (isCut)
    warnings.push(`${ids.length - found.size} of ${ids.length} ${kind}s are skipped: the response of the server is too large`)
  return ids.flatMap((id) => (found.has(id) ? [found.get(id) as T] : []))
}
