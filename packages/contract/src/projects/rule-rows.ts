import { route } from '../route.ts'
import { data, list, PageQuery } from '../shape.ts'
import { CreateRule, RouteRule, UpdateRule } from './rule-shapes.ts'

const read = { permission: 'project:read', on: 'project' } as const
const write = { permission: 'project:write', on: 'project' } as const

/** Rules of the edge: rate limit, ban, allow and deny. */
export const ruleRows = {
  listRules: route('GET /projects/:id/route-rules', {
    ...read,
    selfHostedOnly: true,
    query: PageQuery,
    returns: list(RouteRule),
    summary: 'Edge rules, with their hits',
  }),
  createRule: route('POST /projects/:id/route-rules', {
    ...write,
    selfHostedOnly: true,
    status: 201,
    body: CreateRule,
    returns: data(RouteRule),
    summary: 'Add an edge rule',
  }),
  updateRule: route('PATCH /projects/:id/route-rules/:ruleId', {
    ...write,
    on: 'routeRule',
    selfHostedOnly: true,
    body: UpdateRule,
    returns: data(RouteRule),
    summary: 'Change an edge rule',
  }),
  removeRule: route('DELETE /projects/:id/route-rules/:ruleId', {
    ...write,
    on: 'routeRule',
    selfHostedOnly: true,
    status: 204,
    summary: 'Remove an edge rule',
  }),
}
