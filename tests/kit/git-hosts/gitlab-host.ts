import { branchesIn, entriesAt, fileAt, isEmpty } from './git-content.ts'
import {
  notFound,
  type PlainHook,
  type PlainRepository,
  type PlainState,
  startPlainHost,
  tokenRoute,
  unauthorized,
  visible,
} from './plain-host.ts'
import type { Answer, Call, Route } from './web-app.ts'

/** A GitLab host, modelled on the REST API v4 documentation. */
export const startGitLabHost = () =>
  startPlainHost((state) => {
    const shown = ({ id, owner, name, private: isPrivate }: PlainRepository) => ({
      id,
      path: name,
      path_with_namespace: `${owner}/${name}`,
      visibility: isPrivate ? 'private' : 'public',
      description: '',
      default_branch: 'main',
      last_activity_at: '2026-01-02T03:04:05.000Z',
    })
    const found = (call: Call) => visible(state, call).find(({ owner, name }) => `${owner}/${name}` === call.params.id)
    const pages = (call: Call, items: readonly unknown[]): Answer => {
      const [page, size] = [Number(call.query.get('page') ?? 1), Number(call.query.get('per_page') ?? 20)]
      const headers = { 'x-total-pages': String(Math.max(Math.ceil(items.length / size), 1)) }
      return { json: items.slice((page - 1) * size, page * size), headers }
    }
    /** Wraps a route for callers who are signed in and may see the project. */
    const inProject =
      (route: (call: Call, project: PlainRepository, folder: string) => Promise<Answer> | Answer): Route =>
      (call) => {
        if (!state.tokens.has(call.token ?? '')) return unauthorized
        const project = found(call)
        return project ? route(call, project, state.git.folderOf(`${project.owner}/${project.name}`)) : notFound
      }
    const signedIn =
      (route: (call: Call, user: { login: string; id: number }) => Promise<Answer> | Answer): Route =>
      (call) => {
        const user = state.tokens.get(call.token ?? '')
        return user ? route(call, user) : unauthorized
      }
    return {
      'POST /oauth/token': tokenRoute(state),
      'GET /api/v4/user': signedIn((_, { login, id }) => ({ json: { id, username: login, avatar_url: null } })),
      'GET /api/v4/projects': signedIn((call) => pages(call, visible(state, call).map(shown))),
      'GET /api/v4/groups/:group/projects': signedIn((call) =>
        call.params.group!.split('/')[0] === 'acme'
          ? pages(
              call,
              visible(state, call)
                .filter(({ owner }) => owner === call.params.group)
                .map(shown),
            )
          : notFound,
      ),
      'GET /api/v4/users/:user/projects': signedIn((call) =>
        ['ann', 'bob'].includes(call.params.user!)
          ? pages(
              call,
              visible(state, call)
                .filter(({ owner }) => owner === call.params.user)
                .map(shown),
            )
          : notFound,
      ),
      'GET /api/v4/namespaces/:id': signedIn((call) => (call.params.id === 'acme' ? { json: { id: 77 } } : notFound)),
      'POST /api/v4/projects': signedIn(async (call, { login }) => {
        const { path, visibility, namespace_id } = call.json() as { path: string; visibility: string; namespace_id?: number }
        const name = `${namespace_id === 77 ? 'acme' : login}/${path}`
        if (state.repositories.has(name)) return { status: 400, json: { message: { path: ['has already been taken'] } } }
        return { status: 201, json: shown(await state.add(name, { private: visibility === 'private' })) }
      }),
      'GET /api/v4/projects/:id': inProject(async (_, project, folder) => {
        const isNew = await isEmpty(folder)
        return { json: { ...shown(project), empty_repo: isNew, ...(isNew ? { default_branch: null } : {}) } }
      }),
      'DELETE /api/v4/projects/:id': inProject((_, { owner, name }) => {
        state.repositories.delete(`${owner}/${name}`)
        return { status: 202, json: { message: '202 Accepted' } }
      }),
      'GET /api/v4/projects/:id/repository/branches': inProject(async (call, _, folder) =>
        pages(
          call,
          (await branchesIn(folder)).map(({ name, commit }) => ({ name, commit: { id: commit }, protected: name === 'main' })),
        ),
      ),
      'GET /api/v4/projects/:id/repository/tree': inProject(async (call, _, folder) => {
        const entries = await entriesAt(folder, call.query.get('ref') ?? 'main', call.query.get('path') ?? '')
        return entries
          ? pages(
              call,
              entries.map(({ name, path, type, mode }) => ({ name, path, type, mode })),
            )
          : notFound
      }),
      'GET /api/v4/projects/:id/repository/files/:path*': inProject(async (call, _, folder) => {
        const path = decodeURIComponent(call.params.path!)
        const content = await fileAt(folder, call.query.get('ref') ?? 'main', path)
        return content
          ? { json: { file_path: path, size: content.length, encoding: 'base64', content: content.toString('base64') } }
          : notFound
      }),
      'POST /api/v4/projects/:id/statuses/:sha': inProject((call, { owner, name }) => {
        const { state: status, name: context } = call.json() as { state: string; name: string }
        state.statuses.push({ repository: `${owner}/${name}`, sha: call.params.sha!, state: status, context })
        return { status: 201, json: { id: state.statuses.length } }
      }),
      ...hookRoutes(state, inProject, pages),
      ...noteRoutes(state, inProject, pages),
    }
  })

type InProject = (route: (call: Call, project: PlainRepository) => Promise<Answer> | Answer) => Route
type Pages = (call: Call, items: readonly unknown[]) => Answer

function hookRoutes({ hooks }: PlainState, inProject: InProject, pages: Pages): Record<string, Route> {
  const shown = ({ id, url, active = true, events = ['push'] }: PlainHook) => ({
    id,
    url,
    alert_status: active ? 'executable' : 'disabled',
    push_events: events.includes('push'),
    merge_requests_events: true,
    created_at: '2026-01-02T03:04:05Z',
  })
  const of = ({ owner, name }: PlainRepository) => `${owner}/${name}`
  const hookOf = (call: Call, project: PlainRepository) =>
    hooks.find(({ id, repository }) => String(id) === call.params.hook && repository === of(project))
  return {
    'GET /api/v4/projects/:id/hooks': inProject((call, project) =>
      pages(call, hooks.filter(({ repository }) => repository === of(project)).map(shown)),
    ),
    'POST /api/v4/projects/:id/hooks': inProject((call, project) => {
      const { url, token } = call.json() as { url: string; token: string }
      const hook = { id: (hooks.at(-1)?.id ?? 0) + 1, repository: of(project), url, secret: token }
      hooks.push(hook)
      return { status: 201, json: shown(hook) }
    }),
    'PUT /api/v4/projects/:id/hooks/:hook': inProject((call, project) => {
      const { url, token } = call.json() as { url: string; token: string }
      const hook = hookOf(call, project)
      return hook ? { json: shown(Object.assign(hook, { url, secret: token, active: true, events: ['push'] })) } : notFound
    }),
    'DELETE /api/v4/projects/:id/hooks/:hook': inProject((call, project) => {
      const hook = hookOf(call, project)
      if (hook) hooks.splice(hooks.indexOf(hook), 1)
      return hook ? { status: 204 } : notFound
    }),
  }
}

function noteRoutes({ comments }: PlainState, inProject: InProject, pages: Pages): Record<string, Route> {
  const of = ({ owner, name }: PlainRepository) => `${owner}/${name}`
  return {
    'GET /api/v4/projects/:id/merge_requests/:iid/notes': inProject((call, project) =>
      pages(
        call,
        comments.filter(({ repository, number }) => repository === of(project) && String(number) === call.params.iid),
      ),
    ),
    'POST /api/v4/projects/:id/merge_requests/:iid/notes': inProject((call, project) => {
      const { body } = call.json() as { body: string }
      const comment = { id: comments.length + 1, repository: of(project), number: Number(call.params.iid), body }
      comments.push(comment)
      return { status: 201, json: comment }
    }),
    'PUT /api/v4/projects/:id/merge_requests/:iid/notes/:note': inProject((call) => {
      const comment = comments.find(({ id }) => String(id) === call.params.note)
      return comment ? { json: Object.assign(comment, { body: (call.json() as { body: string }).body }) } : notFound
    }),
  }
}
