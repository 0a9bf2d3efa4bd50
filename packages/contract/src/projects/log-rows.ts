import { Type } from 'typebox'
import { limits } from '../limits.ts'
import { route } from '../route.ts'
import { data, pageQuery, text, wholeList } from '../shape.ts'
import { LogLine, RequestLine } from './log-shapes.ts'

const read = { permission: 'project:read', on: 'project' } as const

const logQuery = {
  tail: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 5000,
      description: 'Number of newest lines; 200 if neither `tail` nor `limit` is set',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: limits.listMaximum, description: 'The same as `tail`, which takes precedence' }),
  ),
  since: Type.Optional(Type.String({ format: 'date-time' })),
  deployment: Type.Optional(text(64)),
  environment: Type.Optional(text(80, 1)),
  service: Type.Optional(text(63)),
  q: Type.Optional(text(500)),
}
const requestFilter = {
  environment: Type.Optional(text(80, 1)),
  status: Type.Optional(text(20)),
  method: Type.Optional(text(20)),
  path: Type.Optional(text(500)),
  q: Type.Optional(text(500)),
}

/** Output and HTTP requests of a project. */
export const logRows = {
  logs: route('GET /projects/:id/logs', {
    ...read,
    query: Type.Object(logQuery),
    returns: wholeList(LogLine),
    summary: 'Runtime logs',
  }),
  streamLogs: route('GET /projects/:id/logs/stream', {
    ...read,
    query: Type.Object(logQuery),
    stream: { log: LogLine },
    summary: 'Live runtime logs; resumable by Last-Event-ID',
  }),
  recentRequests: route('GET /projects/:id/server-logs/recent', {
    ...read,
    query: Type.Object({ limit: pageQuery.limit, ...requestFilter }),
    returns: wholeList(RequestLine),
    summary: 'Recent HTTP requests',
  }),
  mintRequestStreamToken: route('GET /projects/:id/server-logs/stream-token', {
    ...read,
    mints: 'url',
    returns: data(Type.Object({ token: Type.String(), url: Type.String(), expiresAt: Type.String() })),
    summary: 'Create a single-use token for the request stream, valid for one minute',
  }),
  streamRequests: route('GET /projects/:id/server-logs/stream', {
    ...read,
    streamToken: true,
    query: Type.Object({ token: Type.Optional(text(200)), ...requestFilter }),
    stream: { request: RequestLine },
    summary: 'Live HTTP requests',
  }),
}
