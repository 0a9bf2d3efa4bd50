import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readTemplate, type Template } from './read-template.ts'

/** The folder of the templates: beside the sources, and beside the bundle in an installation. */
export function templatesFolder(): string {
  const paths = ['../../../templates', '../templates', '../../templates']
  const folders = paths.map((path) => fileURLToPath(new URL(path, import.meta.url)))
  const folder = folders.find((one) => existsSync(join(one, 'postgres', 'template.yaml')))
  if (folder === undefined) throw new Error('The folder of the catalogue does not exist. Install Berth again.')
  return folder
}

/** Reads all templates of a folder, sorted by title. Throws `TemplateInvalid`. */
export async function loadTemplates(folder: string): Promise<Template[]> {
  const templates: Template[] = []
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    const read = (name: string) => readFile(join(folder, entry.name, name), 'utf8')
    const [header, compose] = await Promise.all([read('template.yaml'), read('compose.yaml')])
    templates.push(readTemplate({ id: entry.name, header, compose }))
  }
  return templates.sort((left, right) => (left.title.toLowerCase() < right.title.toLowerCase() ? -1 : 1))
}

/** Templates of the installation, read with the first request. */
export class Catalogue {
  readonly #folder: () => string
  #templates: Promise<readonly Template[]> | undefined

  constructor(folder: () => string = templatesFolder) {
    this.#folder = folder
  }

  all(): Promise<readonly Template[]> {
    this.#templates ??= loadTemplates(this.#folder()).catch((error: unknown) => {
      this.#templates = undefined
      throw error
    })
    return this.#templates
  }

  async find(id: string): Promise<Template | undefined> {
    return (await this.all()).find((template) => template.id === id)
  }
}
