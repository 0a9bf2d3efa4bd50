import type { CatalogueDeps } from './deps.ts'
import { catalogueHandlers } from './handlers.ts'
import { Catalogue } from './load-templates.ts'

export type { CatalogueDeps } from './deps.ts'

/**
 * The catalogue: *templates* of databases and applications. A template is a folder of data: a header (`template.yaml`) and a Compose
 * file with pinned images. Adding one creates an ordinary project.
 */
export const createCatalogue = (deps: Omit<CatalogueDeps, 'catalogue'>) => ({
  handlers: catalogueHandlers({ ...deps, catalogue: new Catalogue() }),
})
