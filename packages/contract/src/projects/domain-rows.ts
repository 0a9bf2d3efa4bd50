import { route } from '../route.ts'
import { data, list, PageQuery } from '../shape.ts'
import { ProjectDomain } from './domain-shapes.ts'

const write = { permission: 'project:write', on: 'domain' } as const

/** The host names of a project. `connect` adds one. */
export const domainRows = {
  listDomains: route('GET /projects/:id/domains', {
    permission: 'project:read',
    on: 'project',
    query: PageQuery,
    returns: list(ProjectDomain),
    summary: 'The free host name first, then the connected domains, with their DNS records',
  }),
  removeDomain: route('DELETE /projects/:id/domains/:hostname', {
    ...write,
    status: 204,
    errors: ['conflict'],
    summary: 'Remove a connected domain: it is no longer served, and its certificate is not renewed',
  }),
  verifyDomain: route('POST /projects/:id/domains/:hostname/verify', {
    ...write,
    returns: data(ProjectDomain),
    summary: 'Look up the TXT record and the address of a domain in DNS now',
  }),
  makeDomainPrimary: route('POST /projects/:id/domains/:hostname/primary', {
    ...write,
    returns: data(ProjectDomain),
    summary: 'Make a host name the primary one',
  }),
}
