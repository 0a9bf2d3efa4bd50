import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { platformArguments, withoutEnginePlatform } from './platform-flags.ts'
import {
  DockerfileRefused,
  expandWord,
  instructionOf,
  parseStrictly,
  type StrictInstruction,
  wordsIn,
} from './strict-dockerfile.ts'

export interface DockerfileGuard {
  buildArguments: Readonly<Record<string, string>>
  /** Owner of the cache mounts. Every owner has its own. */
  cacheOwner: string
  /** The builder supports here-documents without `# syntax=`. */
  supportsHeredocs: boolean
  /** Platform that the engine runs on and builds for, such as `linux/amd64`. */
  platform: string
  /** Returns the local name of an image. Rejects for an image that the project may not use. */
  findImage(image: string): Promise<string>
}

/** A URL of an ADD instruction. Berth fetches it, and the build copies it from `path`. */
export interface AddedFile {
  url: string
  path: string
  sha256: string | null
}

/** Folder in the build context for files that Berth fetched for ADD. */
export const downloadFolder = '.berth-added'

export interface GuardedDockerfile {
  text: string
  added: AddedFile[]
  hasHeredocs: boolean
  /** Docker's predefined platform arguments that it declares. The classic builder does not set them. */
  platformArguments: Record<string, string>
}

/**
 * Validates and rewrites a Dockerfile. The engine runs parts of it as root and from the machine's own network: it fetches URLs
 * (ADD), uses local images (FROM, COPY --from, --mount=from) and shares cache mounts between all builds. Each of these is
 * authorized first and rewritten without variables, so that the build cannot change it.
 */
export async function guardDockerfile(text: string, guard: DockerfileGuard): Promise<GuardedDockerfile> {
  if (Object.hasOwn(guard.buildArguments, 'BUILDKIT_SYNTAX'))
    throw new DockerfileRefused(
      'the build argument BUILDKIT_SYNTAX names another Dockerfile frontend, which is not supported. Remove it.',
    )
  const { lines, instructions, escapeSign } = parseStrictly(text)
  const hasHeredocs = instructions.some((one) => one.hasHeredoc)
  if (hasHeredocs && !guard.supportsHeredocs && !lines.some((line) => /^\s*#\s*syntax\s*=/i.test(line)))
    throw new DockerfileRefused('here-documents need "# syntax=docker/dockerfile:1" as the first line on this engine')
  const rewriter = new DockerfileRewriter(guard, escapeSign)
  const out = [...lines]
  for (const [at, instruction] of instructions.entries()) {
    // Lets other requests run in between.
    if (at % 200 === 199) await yieldToEventLoop()
    const rewritten = await rewriter.rewrite(instruction)
    if (rewritten === null) continue
    out[instruction.first] = rewritten
    out.fill('', instruction.first + 1, instruction.last + 1)
  }
  const { added, platformArguments } = rewriter
  return { text: out.join('\n'), added, hasHeredocs, platformArguments }
}

class DockerfileRewriter {
  readonly added: AddedFile[] = []
  readonly platformArguments: Record<string, string> = {}
  readonly #guard: DockerfileGuard
  readonly #escape: string
  readonly #stages = new Set(['scratch'])
  readonly #platformValues: ReadonlyMap<string, string>
  readonly #globalArguments: Map<string, string>
  #stageVariables: Map<string, string>
  #stageCount = 0

  constructor(guard: DockerfileGuard, escapeSign: string) {
    this.#guard = guard
    this.#escape = escapeSign
    this.#platformValues = new Map(platformArguments(guard.platform))
    this.#globalArguments = new Map(this.#platformValues)
    this.#stageVariables = this.#globalArguments
  }

  /** Returns the rewritten instruction, or null if it stays as it is. */
  async rewrite(instruction: StrictInstruction): Promise<string | null> {
    const { keyword, rest } = instruction
    if (keyword === 'ARG') this.#setArguments(rest)
    if (keyword === 'ENV') this.#setVariables(rest)
    if (keyword === 'ONBUILD') refuseTrigger(rest)
    if (keyword === 'FROM') return this.#from(instruction)
    if (keyword === 'COPY') return this.#copy(instruction)
    if (keyword === 'ADD') return this.#add(instruction)
    return keyword === 'RUN' ? this.#run(instruction) : null
  }

  #from({ flags, rest, first }: StrictInstruction): string {
    const [written = '', as, stage, ...more] = wordsIn(rest).words
    const image = expandWord(written, this.#globalArguments, this.#escape)
    if (!image || !isImageName(image))
      throw new DockerfileRefused(`line ${first + 1}: "FROM ${written}" cannot be resolved before the build`)
    if (more.length > 0 || (as !== undefined && (as.toUpperCase() !== 'AS' || !stage || !/^[\w.-]+$/.test(stage))))
      throw new DockerfileRefused(`line ${first + 1} is not a valid FROM. Write FROM <image> [AS <stage>]`)
    this.#stageVariables = new Map()
    this.#stageCount += 1
    if (stage) this.#stages.add(stage.toLowerCase())
    const known = { platform: this.#guard.platform, values: this.#globalArguments, escapeSign: this.#escape, line: first + 1 }
    return ['FROM', ...withoutEnginePlatform(flags, known), image, ...(stage ? ['AS', stage] : [])].join(' ')
  }

  async #copy({ flags, rest, first }: StrictInstruction): Promise<string | null> {
    const kept: string[] = []
    for (const flag of flags) {
      const source = /^--from=?(.*)$/i.exec(flag)?.[1]
      kept.push(source === undefined ? flag : `--from=${await this.#resolveSource(source, first)}`)
    }
    return kept.join() === flags.join() ? null : ['COPY', ...kept, rest].join(' ')
  }

  /** A stage by name or number, or the local name of an image. */
  async #resolveSource(source: string, line: number): Promise<string> {
    if (/^\d+$/.test(source) && Number(source) < this.#stageCount) return source
    if (this.#stages.has(source.toLowerCase())) return source
    if (!isImageName(source)) throw new DockerfileRefused(`line ${line + 1}: "${source.slice(0, 100)}" is not a valid image name`)
    return this.#guard.findImage(source)
  }

  #add({ flags, rest, first, hasHeredoc }: StrictInstruction): string | null {
    if (hasHeredoc) return null
    const { words, isJson } = wordsIn(rest)
    const written = words.slice(0, -1)
    const sources = written.map((word) => expandWord(word, this.#stageVariables, this.#escape))
    if (sources.some((source) => source === null || !/^[^$"'\\`\0-\x1f]*$/.test(source)))
      throw new DockerfileRefused(`line ${first + 1}: the source of ADD cannot be resolved before the build; use COPY`)
    const resolved = sources as string[]
    if (resolved.some(looksLikeUrl)) return this.#copyDownloaded(resolved, words.at(-1) ?? '', flags, first)
    const isUnchanged = resolved.every((source, at) => source === written[at])
    if (isUnchanged && !flags.some((flag) => /^--from/i.test(flag))) return null
    if (!isUnchanged && !isJson && words.some((word) => /["']/.test(word)))
      throw new DockerfileRefused(`line ${first + 1}: write the sources of ADD without quotes`)
    return ['ADD', ...flags.filter((flag) => !/^--from/i.test(flag)), JSON.stringify([...resolved, words.at(-1)])].join(' ')
  }

  /** Rewrites an ADD of URLs to a COPY of the fetched files. Neither unpacks archives. */
  #copyDownloaded(sources: string[], target: string, flags: string[], line: number): string {
    if (!sources.every((source) => /^https?:\/\//.test(source)))
      throw new DockerfileRefused(`line ${line + 1}: ADD supports either files of the project or http and https URLs, not both`)
    const sha256 = flags.map((flag) => /^--checksum=sha256:([0-9a-f]{64})$/.exec(flag)?.[1]).find(Boolean) ?? null
    if (!sha256 && flags.some((flag) => flag.startsWith('--checksum')))
      throw new DockerfileRefused(`line ${line + 1}: the checksum is not sha256`)
    const paths = sources.map((url) => {
      const name = URL.parse(url)?.pathname.split('/').at(-1) ?? ''
      if (!/^[\w.+~@%=-]+$/.test(name) || /^\.+$/.test(name))
        throw new DockerfileRefused(`line ${line + 1}: the URL has no file name`)
      const path = `${downloadFolder}/${this.added.length}/${name}`
      this.added.push({ url, path, sha256 })
      return path
    })
    const copyFlags = flags.filter((flag) => /^--(chown|chmod|link)\b/.test(flag))
    return ['COPY', ...copyFlags, JSON.stringify([...paths, target])].join(' ')
  }

  async #run({ flags, rest, first }: StrictInstruction): Promise<string | null> {
    const kept: string[] = []
    for (const flag of flags) {
      if (/^--(network=(?!default$|none$)|security=(?!sandbox$)|device\b)/i.test(flag))
        throw new DockerfileRefused(`line ${first + 1}: ${flag.slice(0, 60)} is not allowed in a build`)
      kept.push(/^--mount=/i.test(flag) ? await this.#mount(flag.slice('--mount='.length), first) : flag)
    }
    return kept.join() === flags.join() ? null : ['RUN', ...kept, rest].join(' ')
  }

  /** Prefixes cache ids with the owner: an engine shares caches between all builds by id. */
  async #mount(written: string, line: number): Promise<string> {
    const fields = written.split(',').map((field) => {
      const sign = field.indexOf('=')
      const key = (sign < 0 ? field : field.slice(0, sign)).trim().toLowerCase()
      return { key, value: sign < 0 ? undefined : field.slice(sign + 1) }
    })
    const optionValue = (...keys: string[]) => fields.find(({ key }) => keys.includes(key))?.value
    if (new Set(fields.map(({ key }) => key)).size < fields.length)
      throw new DockerfileRefused(`line ${line + 1}: a mount sets an option twice`)
    for (const field of fields) if (field.key === 'from') field.value = await this.#resolveSource(field.value ?? '', line)
    const type = optionValue('type') ?? 'bind'
    if (!['bind', 'cache', 'tmpfs', 'secret', 'ssh'].includes(type.toLowerCase()))
      throw new DockerfileRefused(`line ${line + 1}: the mount type "${type.slice(0, 40)}" is not supported`)
    if (type.toLowerCase() === 'ssh')
      throw new DockerfileRefused(`line ${line + 1}: there is no SSH agent in a build; use --mount=type=secret with a variable`)
    const others = fields.filter(({ key }) => type.toLowerCase() !== 'cache' || key !== 'id')
    const id = `${this.#guard.cacheOwner}/${optionValue('id') ?? optionValue('target', 'dst', 'destination') ?? ''}`
    const all = type.toLowerCase() === 'cache' ? [...others, { key: 'id', value: id }] : others
    return `--mount=${all.map(({ key, value }) => (value === undefined ? key : `${key}=${value}`)).join(',')}`
  }

  #setArguments(rest: string): void {
    for (const word of wordsIn(rest).words) {
      const [, name = word, written] = /^(\w+)=([\s\S]*)$/.exec(word) ?? []
      const buildArgument = Object.hasOwn(this.#guard.buildArguments, name) ? this.#guard.buildArguments[name] : undefined
      const isPlatformArgument = buildArgument === undefined && written === undefined && this.#platformValues.has(name)
      if (isPlatformArgument && this.#stageCount > 0) this.platformArguments[name] = this.#platformValues.get(name) as string
      const value =
        buildArgument ??
        (written === undefined ? this.#globalArguments.get(name) : expandWord(written, this.#stageVariables, this.#escape))
      if (value === undefined || value === null) this.#stageVariables.delete(name)
      else this.#stageVariables.set(name, value)
    }
  }

  #setVariables(rest: string): void {
    const { words } = wordsIn(rest)
    const pairs = words[0]?.includes('=') ? words : [`${words[0]}=${words.slice(1).join(' ')}`]
    for (const pair of pairs) {
      const [, name = '', written = ''] = /^(\w+)=([\s\S]*)$/.exec(pair) ?? []
      const value = expandWord(written, this.#stageVariables, this.#escape)
      if (value === null) this.#stageVariables.delete(name)
      else this.#stageVariables.set(name, value)
    }
  }
}

/** Refuses an ONBUILD trigger that reaches outside the project. Triggers of an image cannot be rewritten. */
export function refuseTrigger(trigger: string): void {
  const { keyword, flags, rest } = instructionOf(trigger, 0, '\\')
  const reachesOutside =
    keyword === 'FROM' ||
    keyword === 'ONBUILD' ||
    flags.some((flag) => /^--(from|mount|network|security|device)/i.test(flag)) ||
    (keyword === 'ADD' && /[$"'\\`:@]|github\.com/.test(rest))
  if (reachesOutside) throw new DockerfileRefused(`"ONBUILD ${trigger.slice(0, 100)}" reaches outside the project`)
}

const isImageName = (image: string) => /^[A-Za-z0-9][\w.:/@-]*$/.test(image)

/** Whether a builder may take the source for a URL. */
const looksLikeUrl = (source: string) => /^[a-z][a-z0-9+.-]*:/i.test(source) || /^git@|^github\.com\//i.test(source)
