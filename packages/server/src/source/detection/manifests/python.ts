import { dig, recordOf, textOf, textsOf } from '../../values.ts'
import type { Folder } from '../folder.ts'
import { addDependency, type Dependency, type Manifest } from './manifest.ts'

export interface PythonManifest extends Manifest {
  /** The file for `pip install -r`. */
  requirements: string | null
  hasPyproject: boolean
  usesPoetry: boolean
  usesUv: boolean
  requiresPython: { version: string; file: string } | null
}

const requirementFiles = ['requirements.txt', 'requirements/production.txt', 'requirements/prod.txt', 'requirements/base.txt']

export const readPython = (folder: Folder): Promise<PythonManifest | null> => folder.once('python', () => read(folder))

async function read(folder: Folder): Promise<PythonManifest | null> {
  const dependencies = new Map<string, Dependency>()
  const requirements = requirementFiles.find((name) => folder.has(name)) ?? null
  const pyproject = recordOf(await folder.toml('pyproject.toml'))
  const pipfile = recordOf(await folder.toml('Pipfile'))
  const hasPyproject = Object.keys(pyproject).length > 0
  const file = ['pyproject.toml', 'Pipfile', requirements, 'setup.py', 'manage.py'].find((name) => name && folder.has(name))
  if (!file) return null

  for (const line of textsOf(dig(pyproject, 'project', 'dependencies'))) addRequirement(line, 'pyproject.toml', dependencies)
  addTable(dig(pyproject, 'tool', 'poetry', 'dependencies'), 'pyproject.toml', dependencies)
  addTable(pipfile.packages, 'Pipfile', dependencies)
  if (requirements) await addRequirementFile(folder, requirements, dependencies, new Set())
  return {
    file,
    name: textOf(dig(pyproject, 'project', 'name')) ?? textOf(dig(pyproject, 'tool', 'poetry', 'name')),
    dependencies,
    requirements,
    hasPyproject,
    usesPoetry: dig(pyproject, 'tool', 'poetry') !== undefined,
    usesUv: dig(pyproject, 'tool', 'uv') !== undefined,
    requiresPython: requiredPython(pyproject, pipfile),
  }
}

/** Adds a requirement. Names are normalised (case, `-_.`); an extra is a dependency of its own: `fastapi[standard]`. */
function addRequirement(line: string, file: string, dependencies: Map<string, Dependency>): void {
  const match = /^\s*([A-Za-z0-9][A-Za-z0-9._-]{0,100})\s*(?:\[([A-Za-z0-9,._\s-]{0,200})\])?\s*([<>=!~][^;#]{0,100})?/.exec(line)
  if (!match) return
  const name = normalised(match[1]!)
  const version = match[3]?.trim() ?? null
  addDependency(dependencies, name, version, file)
  for (const extra of match[2]?.split(',') ?? [])
    addDependency(dependencies, `${name}[${normalised(extra.trim())}]`, version, file)
}

const normalised = (name: string) => name.toLowerCase().replaceAll(/[-_.]+/g, '-')

/** Tables of Poetry and Pipenv: a version, or an object with a version and extras. */
function addTable(table: unknown, file: string, dependencies: Map<string, Dependency>): void {
  for (const [name, value] of Object.entries(recordOf(table))) {
    if (normalised(name) === 'python') continue
    const version = textOf(value) ?? textOf(dig(value, 'version'))
    addDependency(dependencies, normalised(name), version, file)
    for (const extra of textsOf(dig(value, 'extras')))
      addDependency(dependencies, `${normalised(name)}[${normalised(extra)}]`, version, file)
  }
}

const maxRequirementFiles = 20

/** Reads a requirements file and the files it includes, each once. */
async function addRequirementFile(
  folder: Folder,
  file: string,
  dependencies: Map<string, Dependency>,
  read: Set<string>,
): Promise<void> {
  read.add(folder.full(file))
  const text = await folder.text(file)
  for (const line of text?.split('\n', 5000) ?? []) {
    const included = /^\s*(?:-r|--requirement)[\s=]+(\S+)/.exec(line)?.[1]
    const base = file.includes('/') ? file.slice(0, file.lastIndexOf('/') + 1) : ''
    const isNew = included && read.size < maxRequirementFiles && !read.has(folder.full(base + included))
    if (isNew) await addRequirementFile(folder, base + included, dependencies, read)
    else if (!/^\s*[#-]/.test(line)) addRequirement(line, file, dependencies)
  }
}

function requiredPython(pyproject: unknown, pipfile: unknown): PythonManifest['requiresPython'] {
  const projectVersion =
    textOf(dig(pyproject, 'project', 'requires-python')) ?? textOf(dig(pyproject, 'tool', 'poetry', 'dependencies', 'python'))
  if (projectVersion) return { version: projectVersion, file: 'pyproject.toml' }
  const pipfileVersion =
    textOf(dig(pipfile, 'requires', 'python_full_version')) ?? textOf(dig(pipfile, 'requires', 'python_version'))
  return pipfileVersion ? { version: pipfileVersion, file: 'Pipfile' } : null
}
