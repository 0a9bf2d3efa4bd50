import { accessSync, constants, existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { BuildPlan } from '../../runtime.ts'
import { readArtifactNote } from '../files/artifact.ts'
import { removeTree } from '../files/remove-tree.ts'
import type { Shown } from '../sandbox/bubblewrap.ts'
import { type FetchParts, fetchTool } from './fetch-tool.ts'
import { lastUsed, markUsed, readToolNote, type ToolNote } from './settle-tool.ts'
import { type Tool, toolName, tools } from './tool-packages.ts'
import { ToolUnavailable } from './tool-unavailable.ts'
import { allows, compare, isExact, type Version, versionOf } from './version-range.ts'
import { type WantedTool, wantedTools } from './wanted-tools.ts'

/** Tools for one build or instance. */
export interface ToolSet {
  /** Names under which the tools are kept. */
  names: readonly string[]
  /** Folders of their programs, as paths inside the sandbox. */
  path: readonly string[]
  shown: readonly Shown[]
}

export const noTools: ToolSet = { names: [], path: [], shown: [] }

const megabyte = 1024 * 1024
/** Age after which a range is resolved again, because newer releases may fit it. */
const freshMs = 30 * 24 * 60 * 60_000

interface Kept extends ToolNote {
  name: string
  folder: string
}

/**
 * Versions of Node and of JavaScript package managers that projects ask for. Each is fetched once and shared read-only. When
 * space runs out, tools that no artifact uses are removed.
 */
export class Toolbox {
  readonly #parts: FetchParts
  readonly #limitBytes: number
  readonly #fetching = new Map<string, Promise<string>>()
  /** Number of running builds that use a tool, which no artifact names yet. */
  readonly #held = new Map<string, number>()
  readonly #closing = new AbortController()
  #count = 0
  #swept: Promise<void> | null = null

  constructor(parts: FetchParts, limitMb: number) {
    this.#parts = parts
    this.#limitBytes = limitMb * megabyte
  }

  /** Tools that a build asks for and the machine lacks. They are held until `release`. */
  async forPlan(plan: BuildPlan, report: (line: string) => void, abort: AbortSignal): Promise<ToolSet> {
    const { wanted, warnings } = wantedTools(plan, { node: process.version, has: (program) => this.#has(program) })
    for (const warning of warnings) report(`Warning: ${warning}`)
    const names: string[] = []
    try {
      for (const one of wanted) {
        const name = await this.#get(one, report, abort)
        if (name) names.push(name)
      }
    } catch (error) {
      this.release(names)
      throw error
    }
    return this.#set(names)
  }

  /** Tools that an artifact was built with. A removed tool is fetched again. */
  async named(names: readonly string[], abort: AbortSignal): Promise<ToolSet> {
    for (const name of names) {
      const [, tool, version] = /^([a-z]+)-(.+)$/.exec(name) ?? []
      if (existsSync(this.#folder(name)) || !tool || !version || !isTool(tool)) continue
      await this.#fetchOnce(tool, version, abort)
    }
    return this.#set(names)
  }

  release(names: readonly string[]): void {
    for (const name of names) {
      const left = (this.#held.get(name) ?? 0) - 1
      if (left > 0) this.#held.set(name, left)
      else this.#held.delete(name)
    }
  }

  /** Cancels all fetches. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#fetching.values())
  }

  #set(names: readonly string[]): ToolSet {
    const shown = names.map((name) => ({
      path: this.#folder(name),
      at: this.#parts.sandbox.seen(this.#folder(name)),
      readOnly: true,
    }))
    return { names, shown, path: shown.map(({ at }) => `${at}/bin`) }
  }

  async #get({ tool, range, instead }: WantedTool, report: (line: string) => void, abort: AbortSignal): Promise<string | null> {
    const kept = (await this.#list()).filter((one) => one.tool === tool && allows(range, versionOf(one.version) as Version))
    const best = kept.sort((left, right) => compare(versionOf(right.version) as Version, versionOf(left.version) as Version))[0]
    if (best && (isExact(range) || Date.now() - Date.parse(best.fetchedAt) < freshMs)) return this.#hold(best.name)
    report(`Fetching ${toolName[tool]} ${range}`)
    try {
      return this.#hold(await this.#fetchOnce(tool, range, abort))
    } catch (error) {
      abort.throwIfAborted()
      if (!(error instanceof ToolUnavailable)) throw error
      if (!best && !instead) throw new ToolUnavailable(this.#message(tool, range, error.message))
      report(
        `Warning: ${toolName[tool]} ${range} could not be fetched (${error.message}): ${best ? best.version : instead} is used`,
      )
      return best ? this.#hold(best.name) : null
    }
  }

  #message(tool: Tool, range: string, why: string): string {
    const name = toolName[tool]
    const advice = tool === 'node' ? `ask for one that Node ${process.version} is` : `install ${name} on this machine`
    return `This project asks for ${name} ${range}, which this machine does not have and which could not be fetched: ${why}. Try again later, ${advice}, or use Docker`
  }

  #hold(name: string): string {
    this.#held.set(name, (this.#held.get(name) ?? 0) + 1)
    void markUsed(this.#folder(name), new Date())
    return name
  }

  /** Fetches a tool once for all callers that wait for it. A caller that aborts leaves the fetch to the others. */
  async #fetchOnce(tool: Tool, range: string, abort: AbortSignal): Promise<string> {
    const key = `${tool} ${range}`
    const under = this.#fetching.get(key) ?? this.#fetch(tool, range).finally(() => this.#fetching.delete(key))
    this.#fetching.set(key, under)
    under.catch(() => undefined)
    const given = Promise.withResolvers<never>()
    const giveUp = () => given.reject(abort.reason)
    abort.addEventListener('abort', giveUp, { once: true })
    try {
      abort.throwIfAborted()
      return await Promise.race([under, given.promise])
    } finally {
      abort.removeEventListener('abort', giveUp)
    }
  }

  async #fetch(tool: Tool, range: string): Promise<string> {
    const { paths: places } = this.#parts
    places.make()
    this.#swept ??= this.#sweep()
    await this.#swept
    await this.#evict()
    const draft = join(places.of('tools'), `fetching-${process.pid}-${this.#count++}`)
    try {
      // Shared by all callers, so no caller's signal applies. The fetch has its own time limit.
      const name = await fetchTool(tool, range, draft, this.#parts, this.#closing.signal)
      // Another range may have resolved to the same version.
      await rename(draft, this.#folder(name)).catch((error: unknown) => {
        if (!existsSync(this.#folder(name))) throw error
      })
      return name
    } finally {
      await removeTree(draft, places.of('trash'))
    }
  }

  /** Removes unfinished fetches of a killed control plane. */
  async #sweep(): Promise<void> {
    const { paths: places } = this.#parts
    for (const name of places.list('tools').filter((one) => one.startsWith('fetching-')))
      await removeTree(join(places.of('tools'), name), places.of('trash'))
  }

  async #evict(): Promise<void> {
    const { paths: places } = this.#parts
    const kept = await this.#list()
    let bytes = kept.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    if (bytes <= this.#limitBytes) return
    const used = await this.#usedNames()
    const ages = new Map(await Promise.all(kept.map(async ({ name, folder }) => [name, await lastUsed(folder)] as const)))
    for (const { name, folder, sizeBytes } of kept.sort(
      (left, right) => (ages.get(left.name) ?? 0) - (ages.get(right.name) ?? 0),
    )) {
      if (bytes <= this.#limitBytes) return
      if (used.has(name) || this.#held.has(name)) continue
      await removeTree(folder, places.of('trash'))
      bytes -= sizeBytes
    }
    if (bytes > this.#limitBytes)
      throw new ToolUnavailable(`the tools that projects use take up all of the ${this.#limitBytes / megabyte} MB that they may`)
  }

  async #usedNames(): Promise<Set<string>> {
    const { paths: places } = this.#parts
    const folders = places.list('artifacts').map((name) => join(places.of('artifacts'), name))
    const notes = await Promise.all(folders.map(readArtifactNote))
    return new Set(notes.flatMap((note) => note?.tools ?? []))
  }

  async #list(): Promise<Kept[]> {
    const { paths: places } = this.#parts
    const notes = places.list('tools').map(async (name): Promise<Kept[]> => {
      const note = name.startsWith('fetching-') ? null : await readToolNote(this.#folder(name))
      return note && versionOf(note.version) ? [{ ...note, name, folder: this.#folder(name) }] : []
    })
    return (await Promise.all(notes)).flat()
  }

  #folder = (name: string) => this.#parts.paths.tool(name)

  #has(program: string): boolean {
    const { sandbox, baseEnv } = this.#parts
    const folders = sandbox.searchPath(baseEnv.PATH ?? '').split(':')
    return folders.some((folder) => folder !== '' && isProgram(join(folder, program)))
  }
}

const isTool = (text: string): text is Tool => tools.some((tool) => tool === text)

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Variables of Berth's environment that npm reads: the registry and its proxy. */
const npmSettings = /^npm_config_(?:registry|cafile|(?:https[-_])?proxy|noproxy|strict[-_]ssl)$/i

export const npmEnvironment = (environment: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] => npmSettings.test(entry[0]) && entry[1] !== undefined,
    ),
  )
