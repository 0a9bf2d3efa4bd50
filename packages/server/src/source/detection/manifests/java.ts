import type { Folder } from '../folder.ts'
import { stripComments } from '../source-text.ts'
import { childOf, childText, descendants, parseXml, type XmlElement } from '../xml.ts'
import { addDependency, type Dependency, type Manifest } from './manifest.ts'

export interface JavaManifest extends Manifest {
  tool: 'maven' | 'gradle'
  /** The jar's name without its extension. */
  artifact: string
  version: string | null
  /** Name of the program that Gradle's application plugin installs; null without the plugin. */
  application: string | null
  java: string | null
  language: 'java' | 'kotlin'
}

export const readJava = (folder: Folder): Promise<JavaManifest | null> => folder.once('java', () => read(folder))

async function read(folder: Folder): Promise<JavaManifest | null> {
  if (folder.has('pom.xml')) return readMaven(folder)
  const file = ['build.gradle.kts', 'build.gradle'].find((name) => folder.has(name))
  return file ? readGradle(folder, file) : null
}

async function readMaven(folder: Folder): Promise<JavaManifest | null> {
  const file = 'pom.xml'
  const text = await folder.text(file)
  const pom = text === null ? null : parseXml(text)
  if (pom?.name !== 'project') {
    if (text !== null) folder.warn(`${folder.full(file)} is not a valid POM (XML with the root element project); it is ignored`)
    return null
  }
  const dependencies = new Map<string, Dependency>()
  const values = valuesOf(pom)
  for (const element of [childOf(pom, 'parent'), ...descendants(pom, 'dependency'), ...descendants(pom, 'plugin')]) {
    const [group, artifact] = [childText(element, 'groupId'), childText(element, 'artifactId')]
    if (artifact)
      addDependency(dependencies, `${group ?? ''}:${artifact}`, resolveReferences(childText(element, 'version'), values), file)
  }
  const properties = childOf(pom, 'properties')
  const java = ['java.version', 'maven.compiler.release', 'maven.compiler.source']
    .map((name) => childText(properties, name))
    .find(Boolean)
  const name = childText(pom, 'artifactId')
  const version = resolveReferences(childText(pom, 'version') ?? childText(pom, 'parent', 'version'), values)
  const finalName = resolveReferences(childText(pom, 'build', 'finalName'), values)
  return {
    file,
    name,
    dependencies,
    tool: 'maven',
    artifact: finalName ?? [name ?? folder.name, version].filter(Boolean).join('-'),
    version,
    application: null,
    java: java ?? null,
    language: folder.hasFolder('src/main/kotlin') ? 'kotlin' : 'java',
  }
}

/** Values that the file may reference: its properties, and its own elements such as `project.parent.version`. */
function valuesOf(pom: XmlElement): Map<string, string> {
  const values = new Map<string, string>()
  const add = (name: string, element: XmlElement) => {
    const text = element.text.trim().slice(0, maxValue)
    if (text !== '' && !values.has(name)) values.set(name, text)
  }
  for (const property of childOf(pom, 'properties')?.children ?? []) add(property.name, property)
  for (const child of pom.children)
    for (const prefix of ['', 'project.', 'pom.']) {
      add(`${prefix}${child.name}`, child)
      if (child.name === 'parent' || child.name === 'build')
        for (const inner of child.children) add(`${prefix}${child.name}.${inner.name}`, inner)
    }
  return values
}

const maxValue = 200

/** Replaces references to values of the same file. */
function resolveReferences(value: string | null, values: ReadonlyMap<string, string>): string | null {
  const short = value?.slice(0, maxValue)
  return short?.replace(/\$\{([\w.-]+)\}/g, (whole, name: string) => values.get(name) ?? whole).slice(0, maxValue) ?? null
}

async function readGradle(folder: Folder, file: string): Promise<JavaManifest | null> {
  const source = await folder.text(file)
  if (source === null) return null
  const text = stripComments(source)
  const settings = stripComments((await folder.text('settings.gradle.kts')) ?? (await folder.text('settings.gradle')) ?? '')
  const dependencies = new Map<string, Dependency>()
  for (const [, id, version] of text.matchAll(/\bid[ \t(]+["']([\w.-]+)["']\)?(?:[ \t]+version[ \t(]+["']([^"'\n]{1,60})["'])?/g))
    addDependency(dependencies, id!, version ?? null, file)
  for (const [, group, artifact, version] of text.matchAll(/["']([\w.-]+):([\w.-]+)(?::([\w.${}-]+))?["']/g))
    addDependency(dependencies, `${group}:${artifact}`, version ?? null, file)
  const name = /\brootProject\.name\s*=\s*["']([^"'\n]{1,100})["']/.exec(settings)?.[1] ?? null
  const version = /^version(?: {0,9}= {0,9}| {1,9})["']([^"'\n]{1,60})["']/m.exec(text)?.[1] ?? null
  const java =
    /languageVersion(?:\.set\(| {0,9}= {0,9})JavaLanguageVersion\.of\(["']?(\d+)/.exec(text)?.[1] ??
    /\b(?:source|target)Compatibility\s*=\s*["']?(?:JavaVersion\.VERSION_)?([\d._]+)/.exec(text)?.[1]
  return {
    file,
    name,
    dependencies,
    tool: 'gradle',
    artifact: [name ?? folder.name, version].filter(Boolean).join('-'),
    version,
    application: isApplication.test(text) ? (applicationName.exec(text)?.[1] ?? name ?? folder.name) : null,
    java: java?.replace('_', '.') ?? null,
    language: folder.hasFolder('src/main/kotlin') ? 'kotlin' : 'java',
  }
}

/** The plugin id, a plugin that includes it, or its settings block. */
const isApplication =
  /\bid[ \t(]{1,9}["'](?:application|io\.ktor\.plugin)["']|\bplugin: {0,9}["']application["']|\blibs\.plugins\.ktor\b|^[ \t]{0,40}application[ \t]{0,9}(?:\{|$)/m
const applicationName = /\bapplicationName {0,9}= {0,9}["']([\w.-]{1,100})["']/
