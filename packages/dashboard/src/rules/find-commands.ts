/** A page or an action of a project, as the palette offers it. */
export interface ProjectCommand {
  id: string
  label: string
  /** More words that find it. */
  keywords?: string
}

export interface Searchable {
  id: string
  name: string
  slug: string
}

export interface FoundCommand<Project, Command> {
  project: Project
  /** Undefined: the project itself. */
  command: Command | undefined
}

const maxFound = 20

/**
 * Finds projects by name or slug, and pages and actions of a project by both: `shop env`, `redeploy shop`. Words may come in any
 * order. The current project needs no name.
 */
export function findCommands<Project extends Searchable, Command extends ProjectCommand>(
  query: string,
  projects: readonly Project[],
  commands: readonly Command[],
  currentId?: string,
): FoundCommand<Project, Command>[] {
  const words = wordsOf(query)
  const found: FoundCommand<Project, Command>[] = []
  const ordered = [...projects].sort((a, b) => Number(b.id === currentId) - Number(a.id === currentId))
  if (words.length === 0) return ordered.slice(0, maxFound).map((project) => ({ project, command: undefined }))
  const commandWords = commands.map((command) => ({ command, text: wordsOf(`${command.label} ${command.keywords ?? ''}`) }))
  for (const project of ordered) {
    if (found.length >= maxFound) break
    const own = wordsOf(`${project.name} ${project.slug}`)
    const projectWords = words.filter((word) => matches(word, own))
    if (projectWords.length === words.length) found.push({ project, command: undefined })
    if (projectWords.length === 0 && project.id !== currentId) continue
    const otherWords = words.filter((word) => !matches(word, own))
    // If all words match the project, those after the first may name a command too: "shop logs" with a project "Shop logs".
    const wanted = otherWords.length > 0 ? otherWords : projectWords.slice(1)
    if (wanted.length === 0) continue
    for (const { command, text } of commandWords)
      if (wanted.every((word) => matches(word, text))) found.push({ project, command })
  }
  return found.slice(0, maxFound)
}

/** Whether every word of the query begins a word of the text. */
export const matchesText = (query: string, text: string): boolean => {
  const own = wordsOf(text)
  return wordsOf(query).every((word) => matches(word, own))
}

const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)

const matches = (word: string, words: readonly string[]) => words.some((one) => one.startsWith(word))
