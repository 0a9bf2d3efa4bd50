import { route } from '../route.ts'
import { data, list, PageQuery } from '../shape.ts'
import { Link, LinkBody } from './shapes.ts'

/** Links: a project gets the address and the credentials of a service as variables, on a private network. */
export const links = {
  list: route('GET /projects/:id/links', {
    summary: 'Links of the project, with the names of their variables',
    permission: 'project:read',
    on: 'project',
    query: PageQuery,
    returns: list(Link),
  }),
  create: route('POST /projects/:id/links', {
    summary: 'Link the project to a service; the next deployment gets its variables and joins its private network',
    permission: 'project:write',
    on: 'project',
    names: { serviceProjectId: 'project' },
    body: LinkBody,
    returns: data(Link),
    status: 201,
    errors: ['not_found', 'conflict', 'work_in_progress'],
  }),
  remove: route('DELETE /projects/:id/links/:linkId', {
    summary: 'Delete a link: its private network is removed at once, its variables with the next deployment',
    permission: 'project:write',
    on: 'link',
    status: 204,
    errors: ['work_in_progress'],
  }),
}
