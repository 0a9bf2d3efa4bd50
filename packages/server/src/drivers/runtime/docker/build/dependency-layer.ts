import { posix } from 'node:path'
import type { BuildPlan } from '../../build-plan.ts'
import { type Installer, installers, needsNoFiles } from './installers.ts'

/** Read access to a source folder. Paths are relative, with `/`. */
export interface SourceFiles {
  paths: readonly string[]
  /** Returns null for a file that is too large. */
  read(path: string): Promise<string | null>
}

/**
 * Files that determine the result of an install, which is repeated only when one of them changes. Null: the install may read
 * other files as well, and must run on the whole source.
 */
export async function dependencyFiles(
  { installCommand, rootDirectory }: Pick<BuildPlan, 'installCommand' | 'rootDirectory'>,
  { paths, read }: SourceFiles,
): Promise<string[] | null> {
  const installs = installCommand && parseInstalls(installCommand)
  if (!installs || installs.length === 0) return null
  const found = paths.filter((path) => installs.some(({ installer }) => installer.files.test(path))).sort()
  if (found.length === 0) return null
  for (const { installer, namedFiles } of installs) {
    if (paths.some((path) => installer.otherFiles?.test(path))) return null
    if (!namedFiles.every((file) => found.includes(posix.join(rootDirectory, file)))) return null
    for (const path of found) {
      if (!installer.files.test(path) || isLockfile(path)) continue
      const text = await read(path)
      if (text === null || installer.needsOtherFiles(text, path)) return null
      const referenced = installer.referencedFiles?.(text, path) ?? []
      if (!referenced.every((file) => found.includes(posix.join(posix.dirname(path), file)))) return null
    }
  }
  return found
}

const isLockfile = (path: string) => /(\.lock|-lock\.(json|yaml)|\.lockb|\.sum)$/.test(path)

interface Install {
  installer: Installer
  /** Files in the command, relative to its working folder. */
  namedFiles: string[]
}

/** Parses commands joined with `&&`. Null if a part has an option or an operand whose files are unknown. */
function parseInstalls(command: string): Install[] | null {
  const installs: Install[] = []
  for (const part of command.trim().split('&&')) {
    if (needsNoFiles.test(part.trim())) continue
    const words = splitIntoWords(part)
    const install = words && parseInstall(words)
    if (!install) return null
    installs.push(install)
  }
  return installs
}

/** A word of a shell command without expansions, substitutions, redirections and operators. */
const shellWord = /'([^'\n]*)'|"([^"$`\\\n]*)"|([\w@%+=:,./-]+)/y

/** Words of a simple shell command; null for any other command. */
function splitIntoWords(command: string): string[] | null {
  const words: string[] = []
  const text = command.replace(/^[ \t]+|[ \t]+$/g, '')
  for (let at = 0; at < text.length; ) {
    shellWord.lastIndex = at
    const match = shellWord.exec(text)
    if (!match) return null
    words.push(match[1] ?? match[2] ?? match[3] ?? '')
    const space = /^(?:[ \t]+|$)/.exec(text.slice(shellWord.lastIndex))
    if (!space) return null
    at = shellWord.lastIndex + space[0].length
  }
  return words
}

function parseInstall(words: readonly string[]): Install | null {
  const name = [3, 2, 1].map((length) => words.slice(0, length).join(' ')).find((start) => findInstaller(start))
  const installer = name && findInstaller(name)
  if (!installer) return null
  const rest = words.slice(name.split(' ').length)
  const namedFiles: string[] = []
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] as string
    const [option, inlineValue] = word.startsWith('--') ? splitOnce(word, '=') : [word, undefined]
    if (installer.flags.has(word)) continue
    if (installer.valueOptions?.has(option)) {
      const value = inlineValue ?? rest[++at]
      if (value === undefined || !harmlessValue.test(value)) return null
    } else if (installer.fileOptions?.has(option)) {
      const file = inlineValue ?? rest[++at]
      if (!file) return null
      namedFiles.push(file)
    } else if (installer.takesFiles && !word.startsWith('-')) namedFiles.push(word)
    else return null
  }
  if (installer.needsNamedFile && namedFiles.length === 0) return null
  const alsoInstallsProject = installer.excludeProject !== undefined && !rest.includes(installer.excludeProject.option)
  return { installer: alsoInstallsProject ? withProject(installer) : installer, namedFiles }
}

/** A web address, or a value without folders. */
const harmlessValue = /^(https:\/\/[\w./:@%-]+|[\w,:][\w.,:-]*)$/

const findInstaller = (name: string) => installers.find(({ commands }) => commands.includes(name))

/** The installer also installs the project, whose files are unknown, unless its manifest excludes that. */
const withProject = (installer: Installer): Installer => ({
  ...installer,
  needsOtherFiles: (text, path) =>
    installer.needsOtherFiles(text, path) ||
    (path.endsWith('pyproject.toml') && !(installer.excludeProject?.setting.test(text) ?? true)),
})

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator)
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}
