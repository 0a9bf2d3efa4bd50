import { accessSync, constants, existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { BuildPlan } from '../../build-plan.ts'
import { readArtifactRecord } from '../files/artifact.ts'
import { removeTree } from '../files/remove-tree.ts'
import type { MountedFolder } from '../sandbox/bubblewrap.ts'
import { type FetchParts, fetchTool } from './fetch-tool.ts'
import { lastUsed, markUsed, readToolRecord, type ToolRecord } from './finish-tool.ts'
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
  shown: readonly MountedFolder[]
}

export const noTools: ToolSet = { names: [], path: [], shown: [] }

const megabyte = 1024 * 1024
/** Age after which a range is resolved again, because newer releases may fit it. */
const resolveAgainMs = 30 * 24 * 60 * 60_000

interface InstalledTool extends ToolRecord {
  name: string
  folder: string
}

/**
 * Versions of Node and of JavaScript package managers that projects require. Each is fetched once and shared read-only. When
 * space runs out, tools that no artifact uses are removed.
 */
export class Toolbox {
  readonly #parts: FetchParts
  readonly #limitBytes: number
  readonly #fetching = new Map<string, Promise<string>>()
  /** Number of running builds that use a tool, which no artifact names yet. */
  readonly #buildsByTool = new Map<string, number>()
  readonly #closing = new AbortController()
  #count = 0
  #cleanup: Promise<void> | null = null

  constructor(parts: FetchParts, limitMb: number) {
    this.#parts = parts
    this.#limitBytes = limitMb * megabyte
  }

  /** Tools that a build requires and the machine lacks. They are not evicted before `release`. */
  async forPlan(plan: BuildPlan, report: (line: string) => void, abort: AbortSignal): Promise<ToolSet> {
    const { wanted, warnings } = wantedTools(plan, { node: process.version, has: (program) => this.#has(program) })
    for (const warning of warnings) report(`Warning: ${warning}`)
    const names: string[] = []
    try {
      for (const wantedTool of wanted) {
        const name = await this.#findOrFetch(wantedTool, report, abort)
        if (name) names.push(name)
      }
    } catch (error) {
      this.release(names)
      throw error
    }
    return this.#toolSetOf(names)
  }

  /** Tools that an artifact was built with. A removed tool is fetched again. */
  async ofArtifact(names: readonly string[], abort: AbortSignal): Promise<ToolSet> {
    for (const name of names) {
      const [, tool, version] = /^([a-z]+)-(.+)$/.exec(name) ?? []
      if (existsSync(this.#folder(name)) || !tool || !version || !isTool(tool)) continue
      await this.#fetchOnce(tool, version, abort)
    }
    return this.#toolSetOf(names)
  }

  release(names: readonly string[]): void {
    for (const name of names) {
      const remaining = (this.#buildsByTool.get(name) ?? 0) - 1
      if (remaining > 0) this.#buildsByTool.set(name, remaining)
      else this.#buildsByTool.delete(name)
    }
  }

  /** Cancels all fetches. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#fetching.values())
  }

  #toolSetOf(names: readonly string[]): ToolSet {
    const shown = names.map((name) => ({
      path: this.#folder(name),
      at: this.#parts.sandbox.pathInside(this.#folder(name)),
      readOnly: true,
    }))
    return { names, shown, path: shown.map(({ at }) => `${at}/bin`) }
  }

  async #findOrFetch(
    { tool, range, fallback }: WantedTool,
    report: (line: string) => void,
    abort: AbortSignal,
  ): Promise<string | null> {
    const matching = (await this.#list()).filter((one) => one.tool === tool && allows(range, versionOf(one.version) as Version))
    const best = matching.sort((left, right) =>
      compare(versionOf(right.version) as Version, versionOf(left.version) as Version),
    )[0]
    if (best && (isExact(range) || Date.now() - Date.parse(best.fetchedAt) < resolveAgainMs)) return this.#retain(best.name)
    report(`Fetching ${toolName[tool]} ${range}`)
    try {
      return this.#retain(await this.#fetchOnce(tool, range, abort))
    } catch (error) {
      abort.throwIfAborted()
      if (!(error instanceof ToolUnavailable)) throw error
      if (!best && !fallback) throw new ToolUnavailable(this.#unavailableMessage(tool, range, error.message))
      report(
        `Warning: ${toolName[tool]} ${range} could not be fetched (${error.message}): ${best ? best.version : fallback} is used`,
      )
      return best ? this.#retain(best.name) : null
    }
  }

  #unavailableMessage(tool: Tool, range: string, reason: string): string {
    const name = toolName[tool]
    const advice = tool === 'node' ? `allow Node ${process.version} in the project` : `install ${name} on this machine`
    return `This project requires ${name} ${range}, which is not installed and could not be fetched: ${reason}. Try again later, ${advice}, or use Docker`
  }

  #retain(name: string): string {
    this.#buildsByTool.set(name, (this.#buildsByTool.get(name) ?? 0) + 1)
    void markUsed(this.#folder(name), new Date())
    return name
  }

  /** Fetches a tool once for all callers that wait for it. A caller that aborts leaves the fetch to the others. */
  async #fetchOnce(tool: Tool, range: string, abort: AbortSignal): Promise<string> {
    const key = `${tool} ${range}`
    const fetching = this.#fetching.get(key) ?? this.#fetch(tool, range).finally(() => this.#fetching.delete(key))
    this.#fetching.set(key, fetching)
    fetching.catch(() => undefined)
    const aborted = Promise.withResolvers<never>()
    const onAbort = () => aborted.reject(abort.reason)
    abort.addEventListener('abort', onAbort, { once: true })
    try {
      abort.throwIfAborted()
      return await Promise.race([fetching, aborted.promise])
    } finally {
      abort.removeEventListener('abort', onAbort)
    }
  }

  async #fetch(tool: Tool, range: string): Promise<string> {
    const { paths } = this.#parts
    paths.createFolders()
    this.#cleanup ??= this.#removeUnfinished()
    await this.#cleanup
    await this.#evict()
    const draft = join(paths.of('tools'), `fetching-${process.pid}-${this.#count++}`)
    try {
      // Shared by all callers, so no caller's signal applies. The fetch has its own time limit.
      const name = await fetchTool(tool, range, draft, this.#parts, this.#closing.signal)
      // Another range may have resolved to the same version.
      await rename(draft, this.#folder(name)).catch((error: unknown) => {
        if (!existsSync(this.#folder(name))) throw error
      })
      return name
    } finally {
      await removeTree(draft, paths.of('trash'))
    }
  }

  /** Removes unfinished fetches of a killed control plane. */
  async #removeUnfinished(): Promise<void> {
    const { paths } = this.#parts
    for (const name of paths.list('tools').filter((one) => one.startsWith('fetching-')))
      await removeTree(join(paths.of('tools'), name), paths.of('trash'))
  }

  async #evict(): Promise<void> {
    const { paths } = this.#parts
    const installed = await this.#list()
    let bytes = installed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    if (bytes <= this.#limitBytes) return
    const used = await this.#usedNames()
    const ages = new Map(await Promise.all(installed.map(async ({ name, folder }) => [name, await lastUsed(folder)] as const)))
    for (const { name, folder, sizeBytes } of installed.sort(
      (left, right) => (ages.get(left.name) ?? 0) - (ages.get(right.name) ?? 0),
    )) {
      if (bytes <= this.#limitBytes) return
      if (used.has(name) || this.#buildsByTool.has(name)) continue
      await removeTree(folder, paths.of('trash'))
      bytes -= sizeBytes
    }
    if (bytes > this.#limitBytes)
      throw new ToolUnavailable(`the tools that projects use exceed the limit of ${this.#limitBytes / megabyte} MB`)
  }

  async #usedNames(): Promise<Set<string>> {
    const { paths } = this.#parts
    const folders = paths.list('artifacts').map((name) => join(paths.of('artifacts'), name))
    const records = await Promise.all(folders.map(readArtifactRecord))
    return new Set(records.flatMap((record) => record?.tools ?? []))
  }

  async #list(): Promise<InstalledTool[]> {
    const { paths } = this.#parts
    const records = paths.list('tools').map(async (name): Promise<InstalledTool[]> => {
      const record = name.startsWith('fetching-') ? null : await readToolRecord(this.#folder(name))
      return record && versionOf(record.version) ? [{ ...record, name, folder: this.#folder(name) }] : []
    })
    return (await Promise.all(records)).flat()
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
