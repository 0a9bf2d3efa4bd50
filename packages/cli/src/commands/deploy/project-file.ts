import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, resolve, sep } from 'node:path'
import { ProjectFile, ProjectsFile } from '@berth/contract'
import { problemsIn } from '@berth/contract/check'
import { CliError } from '../../exit-codes.ts'

/** `berth.json` with several projects, and its folder. */
export interface Workspace {
  folder: string
  projects: ProjectsFile['projects']
}

/** The settings in `berth.json` of the folder; empty without the file. */
export function readProjectFile(folder: string): ProjectFile {
  const content = parseFile(folder)
  if (content === null) return {}
  refuseUnknown(content, ProjectFile.properties, '')
  refuseInvalid(ProjectFile, content, (field) => `berth.json: ${field}`)
  return content as ProjectFile
}

/** The nearest `berth.json`, in the folder or a parent, if it holds several projects. */
export function findWorkspace(from: string): Workspace | null {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const content = parseFile(folder)
    if (content !== null) return 'projects' in content ? { folder, projects: projectsIn(content) } : null
    if (folder === dirname(folder)) return null
  }
}

/** The project whose folder contains the path; the innermost one if several do. */
export function projectAt({ folder, projects }: Workspace, path: string): Workspace['projects'][number] | undefined {
  const inside = relative(folder, resolve(path)).split(sep).join('/')
  const depth = (root: string) => (root === '' ? 0 : root.split('/').length)
  return projects
    .filter(({ rootDirectory }) => {
      const root = normalRoot(rootDirectory)
      return root === '' || inside === root || inside.startsWith(`${root}/`)
    })
    .sort((left, right) => depth(normalRoot(right.rootDirectory)) - depth(normalRoot(left.rootDirectory)))[0]
}

function projectsIn(content: object): Workspace['projects'] {
  refuseUnknown(content, ProjectsFile.properties, ' beside projects')
  const { projects } = content as { projects: unknown }
  if (Array.isArray(projects))
    for (const one of projects)
      if (typeof one === 'object' && one !== null)
        refuseUnknown(one, ProjectsFile.properties.projects.items.properties, ` of project ${JSON.stringify(one.name ?? '')}`)
  refuseInvalid(ProjectsFile, content, (field) => `berth.json: ${field}`)
  const valid = projects as Workspace['projects']
  refuseDuplicate(
    'name',
    valid.map(({ name }) => name),
  )
  refuseDuplicate(
    'rootDirectory',
    valid.map(({ rootDirectory }) => normalRoot(rootDirectory)),
  )
  return valid
}

const normalRoot = (rootDirectory: string) => posix.join('/', rootDirectory, '/').slice(1, -1)

function refuseDuplicate(field: string, values: readonly string[]): void {
  const position = values.findIndex((value, at) => values.indexOf(value) !== at)
  if (position >= 0)
    throw new CliError(`berth.json: projects.${position}.${field} ${JSON.stringify(values[position])} is a duplicate`, 2)
}

function refuseUnknown(content: object, known: object, place: string): void {
  const unknown = Object.keys(content).filter((key) => !Object.hasOwn(known, key))
  if (unknown.length > 0)
    throw new CliError(
      `berth.json: unknown setting ${unknown.join(', ')}${place}. GET /api/berth.schema.json lists all settings.`,
      2,
    )
}

/** Checks the values before anything is sent: the instance checks them only after the upload. */
export function refuseInvalid(
  shape: typeof ProjectFile | typeof ProjectsFile,
  settings: object,
  nameOfField: (field: string) => string,
): void {
  const problems = problemsIn(shape, settings)
  if (problems.length === 0) return
  throw new CliError(problems.map(({ field, message }) => `${nameOfField(field)} ${message}`).join('\n  '), 2)
}

/** The object in `berth.json` of the folder; `null` without the file. */
function parseFile(folder: string): object | null {
  const file = join(folder, 'berth.json')
  if (!existsSync(file)) return null
  let content: unknown
  try {
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new CliError(`berth.json is not valid JSON: ${(error as Error).message}`, 2)
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw new CliError('berth.json must contain an object', 2)
  return content
}
