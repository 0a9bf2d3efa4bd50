import type { ServerLink } from '../../shell/ssh/server-link.ts'
import { ServerUnreachable } from '../../shell/ssh/server-unreachable.ts'
import { Allowance, boundedGet, RequestRefused, ResponsesTooLarge, ResponseTooLong } from './bounded-get.ts'
import { linkAgent } from './link-agent.ts'
import { flag, list, record, stringMap, text } from './plain-values.ts'
import { readContainer, readImage } from './read-container.ts'
import type { ReadDocker, ReadNetwork, ReadVolume, ServerReader } from './server-reader.ts'

/** Limit per container or image, which usually has about 10 KB. Small because a record is processed in one go. */
const maxRecordBytes = 96 * 1024
const maxPageBytes = 1024 * 1024
const maxVersionBytes = 64 * 1024
/** Limit of all responses together: a server with a thousand large containers must not exhaust memory. */
const maxKeptBytes = 4 * 1024 * 1024
/** Limit of received bytes, including discarded responses. */
const maxReceivedBytes = 256 * 1024 * 1024
const readTimeoutMs = 60_000
const maxConcurrentReads = 16
const maxContainers = 2_000
const pageSize = 100

/** See `ServerReader`. */
export function createServerReader(link: ServerLink): ServerReader {
  const agent = linkAgent(link)
  return {
    files: link.files,
    ping: (abort) => readWithLimits(abort, async (get) => ({ version: await versionOf(get) })),
    readDocker: (abort) => readWithLimits(abort, readAll),
  }

  async function readWithLimits<T>(abort: AbortSignal, read: (get: Get) => Promise<T>): Promise<T> {
    const limit = AbortSignal.any([abort, AbortSignal.timeout(readTimeoutMs)])
    const allowance = new Allowance({ kept: maxKeptBytes, received: maxReceivedBytes })
    try {
      return await read((path, extract, maxBytes = maxRecordBytes) =>
        boundedGet(path, agent, { maxBytes, allowance, extract }, limit),
      )
    } catch (error) {
      abort.throwIfAborted()
      if (error instanceof ServerUnreachable) throw error
      const reason = limit.aborted ? `reading it took longer than ${readTimeoutMs / 1000} s` : (error as Error).message
      throw new ServerUnreachable('unreachable', `The Docker engine of the server cannot be read: ${reason}`, { cause: error })
    }
  }
}

/** Requests a path. Keeps only the parts of the response that `read` returns. */
type Get = <T>(path: string, read: (answer: unknown) => T, maxBytes?: number) => Promise<T>

const versionOf = (get: Get) => get('/version', (answer) => text(record(answer).Version), maxVersionBytes)

async function readAll(get: Get): Promise<ReadDocker> {
  const warnings: string[] = []
  const version = await versionOf(get)
  const ids = await listContainers(get, warnings)
  const listOf = <T>(what: 'volumes' | 'networks', read: (answer: unknown) => T[]) =>
    emptyIfTooLong(what, () => get(`/${what}`, read, maxPageBytes), warnings)
  const [containers, volumes, networks] = await Promise.all([
    readEach(ids, (id) => get(`/containers/${id}/json`, readContainer), 'container', warnings),
    listOf('volumes', (answer) => limitItems(record(answer).Volumes, 'volumes', warnings).map(readVolume)),
    listOf('networks', (answer) => limitItems(answer, 'networks', warnings).map(readNetwork)),
  ])
  const imageIds = [...new Set(containers.map(({ imageId }) => imageId))].filter((id) => /^sha256:[0-9a-f]{64}$/.test(id))
  const images = await readEach(imageIds, (id) => get(`/images/${id}/json`, readImage), 'image', warnings)
  return { version, containers, volumes, networks, images: new Map(images.map((image) => [image.id, image])), warnings }
}

function readVolume(value: unknown): ReadVolume {
  const { Name, Driver, Labels, Options } = record(value)
  return { name: text(Name), driver: text(Driver), labels: stringMap(Labels), options: stringMap(Options) }
}

function readNetwork(value: unknown): ReadNetwork {
  const { Name, Driver, Labels, Internal } = record(value)
  return { name: text(Name), driver: text(Driver), labels: stringMap(Labels), internal: flag(Internal) }
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
      const page: string[] = await get(`/containers/json?all=1&limit=${size}${filters}`, parseIds, maxPageBytes)
      const newIds = page.filter((id) => isId(id) && !ids.includes(id))
      ids.push(...newIds)
      if (page.length < size || newIds.length === 0) return ids
      before = newIds.at(-1) as string
      size = pageSize
    } catch (error) {
      if (error instanceof RequestRefused && before !== null) {
        // The container after which the page continues was removed meanwhile. Continues after its predecessor.
        if (ids.at(-1) === before) ids.pop()
        before = ids.at(-1) ?? null
        continue
      }
      if (!(error instanceof ResponseTooLong)) throw error
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

const maxListed = 2_000

function limitItems(value: unknown, what: string, warnings: string[]): unknown[] {
  const items = list(value)
  if (items.length > maxListed) warnings.push(`There are more than ${maxListed} ${what}: the others are skipped`)
  return items.slice(0, maxListed)
}

const parseIds = (page: unknown): string[] => list(page).map((one) => text(record(one).Id))

/** Leaves out a list that is too long, with a warning: a label of fifty megabytes must not prevent the rest from being read. */
async function emptyIfTooLong<T>(what: string, read: () => Promise<T[]>, warnings: string[]): Promise<T[]> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof ResponseTooLong) && !(error instanceof ResponsesTooLarge)) throw error
    warnings.push(`The ${what} are skipped: the response of the server is too large`)
    return []
  }
}

const isId = (id: string) => /^[0-9a-f]{64}$/.test(id)

/** Reads every id. Leaves out an item that was removed meanwhile, and an item that cannot be read with a warning. */
async function readEach<T>(
  ids: readonly string[],
  read: (id: string) => Promise<T>,
  kind: string,
  warnings: string[],
): Promise<T[]> {
  const found = new Map<string, T>()
  const pendingIds = [...ids]
  let isIncomplete = false
  const readPending = async () => {
    for (let id = pendingIds.shift(); id !== undefined; id = pendingIds.shift())
      try {
        found.set(id, await read(id))
      } catch (error) {
        if (error instanceof RequestRefused && error.status === 404) continue
        if (error instanceof ResponsesTooLarge) {
          pendingIds.length = 0
          isIncomplete = true
          continue
        }
        if (!(error instanceof RequestRefused) && !(error instanceof ResponseTooLong)) {
          // Stops the other readers.
          pendingIds.length = 0
          throw error
        }
        warnings.push(`The ${kind} ${id.replace(/^sha256:/, '').slice(0, 12)} is skipped: ${error.message}`)
      }
  }
  await Promise.all(Array.from({ length: maxConcurrentReads }, readPending))
  if (isIncomplete)
    warnings.push(`${ids.length - found.size} of ${ids.length} ${kind}s are skipped: the response of the server is too large`)
  return ids.flatMap((id) => (found.has(id) ? [found.get(id) as T] : []))
}
