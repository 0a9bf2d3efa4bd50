import type { Folder } from '../folder.ts'
import { childText, descendants, parseXml } from '../xml.ts'
import { addDependency, type Dependency, type Manifest } from './manifest.ts'

export interface DotnetManifest extends Manifest {
  sdk: string
  assembly: string
  targetFramework: string | null
  language: 'csharp' | 'fsharp' | 'visualbasic'
}

const languages = { csproj: 'csharp', fsproj: 'fsharp', vbproj: 'visualbasic' } as const
const maxProjects = 50
/** SDKs of programs, which take precedence over libraries. */
const sdkOrder = ['Microsoft.NET.Sdk.Web', 'Microsoft.NET.Sdk.BlazorWebAssembly', 'Microsoft.NET.Sdk.Worker']

/** The project of a solution to run: web before worker before others, tests last. */
export const readDotnet = (folder: Folder): Promise<DotnetManifest | null> => folder.once('dotnet', () => read(folder))

async function read(folder: Folder): Promise<DotnetManifest | null> {
  // Without a solution, a project in a subfolder is part of something else.
  const hasSolution = folder.find('*.sln*').length > 0
  const files = folder.find(hasSolution ? '**/*.*proj' : '*.*proj').filter((file) => /\.(cs|fs|vb)proj$/.test(file))
  const projects = (await Promise.all(files.slice(0, maxProjects).map((file) => readProject(folder, file)))).filter(
    (project) => project !== null,
  )
  const rank = (project: DotnetManifest) => {
    const isTest = project.dependencies.has('Microsoft.NET.Test.Sdk')
    const order = sdkOrder.indexOf(project.sdk)
    return isTest ? 100 : order < 0 ? 50 : order
  }
  return projects.sort((a, b) => rank(a) - rank(b))[0] ?? null
}

async function readProject(folder: Folder, file: string): Promise<DotnetManifest | null> {
  const text = await folder.text(file)
  const project = text === null ? null : parseXml(text)
  if (project?.name !== 'Project') {
    if (text !== null)
      folder.warn(`${folder.full(file)} is not a valid project file (XML with the root element Project); it is ignored`)
    return null
  }
  const dependencies = new Map<string, Dependency>()
  for (const { attributes } of descendants(project, 'PackageReference'))
    if (attributes.Include) addDependency(dependencies, attributes.Include, attributes.Version ?? null, file)
  const property = (name: string) => descendants(project, name)[0]?.text.trim() || null
  const [, base = '', ending = 'csproj'] = /([^/]*)\.(\w+)$/.exec(file) ?? []
  return {
    file,
    name: base,
    dependencies,
    sdk: project.attributes.Sdk ?? childText(project, 'Sdk') ?? '',
    assembly: property('AssemblyName') ?? base,
    targetFramework: property('TargetFramework') ?? property('TargetFrameworks')?.split(';')[0] ?? null,
    language: languages[ending as keyof typeof languages] ?? 'csharp',
  }
}
