import { Project } from '../projects/shapes.ts'
import { route } from '../route.ts'
import { data, list } from '../shape.ts'
import { AddTemplate, CatalogueEntry, CatalogueQuery, CatalogueTemplate } from './shapes.ts'

/** The catalogue: templates of databases and applications that become projects. */
export const catalogue = {
  list: route('GET /catalogue', {
    summary: 'Templates of the catalogue, by title',
    permission: 'project:list',
    query: CatalogueQuery,
    returns: list(CatalogueEntry),
  }),
  get: route('GET /catalogue/:templateId', {
    summary: 'One template, with everything that it creates',
    permission: 'project:list',
    returns: data(CatalogueTemplate),
    errors: ['not_found'],
  }),
  add: route('POST /catalogue/:templateId', {
    summary: 'Create a project from a template, with its variables, volumes and backup policy, and deploy it',
    permission: 'project:write',
    body: AddTemplate,
    bodyOptional: true,
    returns: data(Project),
    status: 201,
    errors: ['not_found', 'conflict', 'quota_exceeded', 'no_isolation'],
  }),
}
